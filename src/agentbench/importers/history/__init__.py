"""Creates tasks from the fixes in a repository's history."""
