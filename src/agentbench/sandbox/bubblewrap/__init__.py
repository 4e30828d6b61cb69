"""The back end without a container engine: Linux namespaces made by bubblewrap."""
