"""Rewrites a test file so that some tests secretly expect other values: docs/integrity.md."""
