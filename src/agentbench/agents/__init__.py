"""Agents: what an agent is, the built-in agents, and presets of others' agents."""
