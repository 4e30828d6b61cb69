"""Sandboxes: the back ends docker, bubblewrap and process behind one protocol, `interface`."""
