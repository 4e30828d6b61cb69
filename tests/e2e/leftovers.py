"""What a process of ours has in an engine and on this machine at the moment."""

from pathlib import Path

from agentbench.sandbox.bubblewrap.cgroups import find_hierarchy
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.ownership import CGROUP_PREFIX as GROUP_PREFIX
from agentbench.sandbox.ownership import OURS, ProcessOwner


def left_on_machine(pid: int, cache_dir: Path) -> list[str]:
    """The folders of a process's sandboxes below a cache, and its control groups."""
    live = cache_dir / "bubblewrap" / "live"
    folders = [str(path) for path in live.glob("*") if _inhabitant(path) in {pid, None}]
    hierarchy = find_hierarchy()
    parents = set(hierarchy.parents.values()) if hierarchy is not None else set()
    groups = [str(path) for parent in parents for path in parent.glob(f"{GROUP_PREFIX}{pid}-*")]
    return sorted([*folders, *groups])


def left_in_engine(pid: int, engine: Engine) -> list[str]:
    """The containers, networks and volumes that a process owns."""
    with engine.api("look for leftovers") as api:
        found = api.containers(all=True, filters={"label": OURS})
        networks = api.networks(filters={"label": OURS})
        volumes = api.volumes(filters={"label": OURS})["Volumes"] or []
    owned = [(each["Id"], each.get("Labels")) for each in found]
    owned += [(each["Name"], each.get("Labels")) for each in volumes]
    owned += [(each["Name"], each.get("Labels")) for each in networks]
    return sorted(name for name, labels in owned if _pid_of(labels or {}) == pid)


def _inhabitant(rooms: Path) -> int | None:
    """Whose rooms they are; nobody's where the note is gone already."""
    try:
        return int((rooms / "owner").read_text())
    except FileNotFoundError:
        return None


def _pid_of(labels: dict[str, str]) -> int | None:
    owner = ProcessOwner.from_labels(labels)
    return owner.pid if owner is not None else None
