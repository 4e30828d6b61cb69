"""Derives tests with other values from existing tests, to show what else a fix changes."""
