"""Judges changes that other programs made: as rewards of a training loop, or for a harness."""
