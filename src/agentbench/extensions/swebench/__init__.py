"""SWE-bench's instances and reports."""
