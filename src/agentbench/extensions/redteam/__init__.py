"""`agentbench redteam`: which kinds of cheats would earn a reward in a task."""
