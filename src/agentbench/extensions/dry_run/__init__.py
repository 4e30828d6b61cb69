"""`agentbench agents test`: tries a preset with a tiny task and a scripted model."""
