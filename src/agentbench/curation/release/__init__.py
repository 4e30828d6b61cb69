"""Tasks made of two releases on a package index."""
