"""Terminal-Bench's task folders: reading their `task.yaml`, and converting them to tasks."""
