"""Terminal-Bench's task folders, as far as each is a single container."""
