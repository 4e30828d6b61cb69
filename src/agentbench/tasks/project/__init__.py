"""What a project's own files declare: requirements, Python version and version."""
