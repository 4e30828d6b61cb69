"""The tools of the built-in agent."""
