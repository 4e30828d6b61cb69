"""Reads Python source: its text, scopes, functions, constants and parametrize."""
