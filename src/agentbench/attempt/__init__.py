"""One attempt at a task: its six stages, what they share, and the record that is made of it."""
