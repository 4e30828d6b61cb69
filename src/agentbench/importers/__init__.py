"""Importers: tasks from SWE-bench, Harbor, releases and commits."""
