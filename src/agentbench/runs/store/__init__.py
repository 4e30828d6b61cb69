"""A run's folder on disk.

It holds the configuration and the records, each as a line and as a copy.
"""
