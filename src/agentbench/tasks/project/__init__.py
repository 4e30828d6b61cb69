"""What a project's own files say of it: read and never run."""
