"""The MCP server: agents run tests through the serializer that judges them (docs/mcp.md)."""
