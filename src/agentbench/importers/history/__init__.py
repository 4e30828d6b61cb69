"""Tasks made of the fixes in a repository's own history."""
