"""Harbor's task folders, and what Terminal-Bench's become on their way to ours."""
