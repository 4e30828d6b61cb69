"""Programs that run inside sandboxes by file name, on Python 3.7 to 3.14."""
