"""agentbench tells whether a coding agent fixed a bug, why not, and that nobody cheated."""

__version__ = "0.1.0"
