"""Integrity checks of changes, control runs and suspicious code; they run nothing."""
