"""Task validation: whether a task can be solved, is not solved already, and is not flaky."""
