"""A proxy in this process, by which sandboxes without a network reach listed hosts."""
