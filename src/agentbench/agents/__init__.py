"""Agents: their interface, the built-in agents, and presets for other clients."""
