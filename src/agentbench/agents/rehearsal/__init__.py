"""Rehearsals: an agent tries a tiny task with a model that says what is in its script."""
