"""Sandboxes: docker, bubblewrap and process, behind one protocol (`interface`)."""
