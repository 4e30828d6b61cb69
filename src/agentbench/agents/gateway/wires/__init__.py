"""The protocols that clients of models speak, one module each."""
