"""Reads Terminal-Bench's task folders, and converts them to tasks."""
