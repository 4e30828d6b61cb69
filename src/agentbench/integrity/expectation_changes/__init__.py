"""Rewrites a test file so that some tests expect other values, without a visible difference.

It only reads and writes text; see docs/integrity.md.
"""
