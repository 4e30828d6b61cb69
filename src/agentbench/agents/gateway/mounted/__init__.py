"""Programs that run inside sandboxes, with the standard library alone."""
