"""Compares resolved attempts with the reference fix, to find wrong fixes that tests let pass."""
