"""`agentbench tasks`: the task catalogue, and the commands that make tasks."""
