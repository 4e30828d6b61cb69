"""The model gateway: a reverse proxy on the host that counts, prices, limits and records."""
