"""`agentbench view`: runs as web pages, live while they run."""
