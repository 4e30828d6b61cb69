"""`agentbench view`: web pages about runs, updated while they run."""
