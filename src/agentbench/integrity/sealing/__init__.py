"""Seals test files: every expected value is taken out and compared on the host."""
