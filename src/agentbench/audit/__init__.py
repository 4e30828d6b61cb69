"""`agentbench audit`: rules that search tasks and runs for known leaks and for tampering."""
