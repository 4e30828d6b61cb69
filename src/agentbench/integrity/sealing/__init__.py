"""Judges sealed runs: what a test without expected values recorded, against what it expects."""
