"""The part of the file tools that runs inside the sandbox, on its Python."""
