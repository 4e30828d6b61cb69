"""The folder that is mounted into sandboxes: a start script and `agentbench_mounted`."""
