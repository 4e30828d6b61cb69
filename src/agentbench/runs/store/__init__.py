"""A run's folder on disk.

Its configuration, its records as lines and as copies, and reading them back.
"""
