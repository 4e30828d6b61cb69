"""SWE-bench's instances, predictions and reports."""
