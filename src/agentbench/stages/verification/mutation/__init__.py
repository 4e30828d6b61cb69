"""Blind controls: tests that expect something else than they should, and do not show it.

It reads and writes text only. See docs/integrity.md for what it is good for.
"""
