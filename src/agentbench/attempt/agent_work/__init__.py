"""The sandbox that an agent sees, and what is read from its work."""
