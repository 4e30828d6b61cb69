"""Finds out how a project's tests run: proposals from its files, tried in a sandbox."""
