"""Tasks made of two releases of a package, by their source distributions."""
