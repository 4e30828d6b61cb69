"""Creates tasks from two releases of a package, by their source distributions."""
