"""The commands that run a server until they are told to stop: gateway, mcp, view."""
