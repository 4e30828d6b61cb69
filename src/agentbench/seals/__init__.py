"""Seals: digests that tell whether what lies on disk is what was written there."""
