"""Sandboxes: the back ends docker, bubblewrap and process, with one protocol in `interface`."""
