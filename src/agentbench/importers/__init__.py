"""Importers: tasks from SWE-bench, Harbor, Terminal-Bench, releases and commits."""
