"""Rewrites a test file so that some tests invisibly expect other values: docs/integrity.md."""
