"""SWE-bench's files, and those of its relatives, read as tasks."""
