"""Tasks: their data model, loading and writing them, and their git repositories."""
