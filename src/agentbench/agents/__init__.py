"""Agents: what tries to fix the bug; each gets a Problem and a Sandbox, never the answer."""
