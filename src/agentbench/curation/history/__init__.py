"""Tasks made of fixes that are in a repository's history."""
