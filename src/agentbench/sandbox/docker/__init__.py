"""The Docker back end (Podman has the same API): a container for each sandbox.

Every function that talks to the engine raises SandboxError if the engine or the container is lost;
the docstrings of this package name only further exceptions.
"""
