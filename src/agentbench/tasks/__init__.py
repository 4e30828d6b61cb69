"""Tasks: what a person wrote down about one bug, read from disk and checked."""
