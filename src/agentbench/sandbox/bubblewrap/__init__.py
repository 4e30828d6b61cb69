"""The back end without a container engine: Linux namespaces by bubblewrap."""
