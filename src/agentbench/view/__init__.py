"""`agentbench view`: runs as a web page, live while they go on."""
