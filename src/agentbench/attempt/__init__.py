"""One attempt at a task: its six stages, the state that they share, and its record."""
