"""A way out of sandboxes without a network: a proxy of this process that allows listed hosts."""
