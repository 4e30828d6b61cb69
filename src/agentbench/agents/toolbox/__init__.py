"""Toolboxes: an agent's own programs, installed once and mounted read-only where it works."""
