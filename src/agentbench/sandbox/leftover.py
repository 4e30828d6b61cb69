"""What a run that died left on the machine: containers, volumes, folders, control groups."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """One thing of ours on the machine; while its owner is alive it is in use, not left over."""

    kind: str  # "container", "volume", "folder", "cgroup"
    id: str  # what removes it: a container's id, a folder's path
    size_bytes: int = 0
    owner_alive: bool = False
