"""Runs known cheats against a task, and tells which of them its grader would reward."""
