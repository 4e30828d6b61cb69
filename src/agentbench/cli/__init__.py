"""The command line: wires everything, and is the only place that turns errors into exit codes."""
