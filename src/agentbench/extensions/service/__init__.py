"""The judge over HTTP: the service, and its client."""
