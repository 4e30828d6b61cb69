"""What runs inside a sandbox, on Python 3.7 or newer with its standard library alone."""
