"""What a repository's history tells: its commits, and which of their files are tests."""
