"""Ways to a model: one small protocol, a client of the field for each wire."""
