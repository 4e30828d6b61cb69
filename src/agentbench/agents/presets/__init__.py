"""Presets: others' agents as data, and the agent that runs one."""
