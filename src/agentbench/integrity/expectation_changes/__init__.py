"""Rewrites a file of tests so that some tests expect something else.

Nothing in the text tells which. Reads and writes text only; see docs/integrity.md.
"""
