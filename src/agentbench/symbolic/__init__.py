"""What functions do on inputs that no test has: searched for in sandboxes, never on this side."""
