"""Seals test files: removes every expected value from them, and compares it on the host."""
