"""Runs: many attempts, one record each, on disk."""
