"""What judging attempts does not need. Each folder can be deleted; nothing outside imports it."""
