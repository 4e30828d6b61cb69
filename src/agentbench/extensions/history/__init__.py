"""Makes tasks of the fixes in a repository's history."""
