"""Sandboxes: the protocols, three back ends, and the network of listed hosts.

Functions that only this folder uses may raise SandboxError and OSError; their docstrings name only
other exceptions.
"""
