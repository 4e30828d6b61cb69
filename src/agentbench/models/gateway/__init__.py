"""The gateway, which checks, counts, records and forwards requests to a model."""
