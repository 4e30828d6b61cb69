"""What the built-in agent's model can do: look, change, run, test, submit."""
