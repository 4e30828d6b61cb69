"""The built-in agent: a model with a few tools, in a loop on this machine."""
