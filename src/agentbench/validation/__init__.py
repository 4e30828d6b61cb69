"""Task validation: whether a task can be solved, is not solved yet, and is not flaky."""
