"""Calls of the test tools of agents and MCP clients, and their answers."""
