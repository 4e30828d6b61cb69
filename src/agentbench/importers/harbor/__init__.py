"""Harbor's task folders: read, and written."""
