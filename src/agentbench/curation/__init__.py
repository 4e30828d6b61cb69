"""Tasks made out of what is there already, and proven by running them."""
