"""Programs that run in sandboxes by their file names.

Standard library and the mounted libraries only.
"""
