"""Presets: descriptions of other clients, and the agent that runs them."""
