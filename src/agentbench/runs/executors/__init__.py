"""Where attempts are made: threads of this process, or the nodes of a Ray cluster."""
