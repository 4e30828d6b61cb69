"""Other formats of tasks, read: each says what it cannot take, and goes on with the rest."""
