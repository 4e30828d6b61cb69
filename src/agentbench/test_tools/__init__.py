"""The test tools of agents and MCP clients: their arguments, calls and answers."""
