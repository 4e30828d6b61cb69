"""The Docker back end (Podman answers by the same API): a container for each sandbox."""
