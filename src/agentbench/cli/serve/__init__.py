"""The commands that run a server until they are stopped: gateway, mcp, view."""
