"""`agentbench tasks`: the commands that list, create, import and export tasks."""
