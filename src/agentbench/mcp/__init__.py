"""The MCP server: pytest tools for a project, and tools that search the paths of a function."""
