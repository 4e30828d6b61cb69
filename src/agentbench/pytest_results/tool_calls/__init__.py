"""A call of a tool on a project's tests: what it takes, what it answers; for MCP and agents."""
