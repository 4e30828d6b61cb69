"""Searches in sandboxes for the behaviour of functions on inputs that no test uses."""
