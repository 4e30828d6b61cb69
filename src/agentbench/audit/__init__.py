"""The audit: tasks and records looked through for known leaks, by reading alone."""
