"""What `agentbench doctor` looks at."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.choose import Probe, probe_all
from agentbench.sandbox.leftover import Leftover

_ENOUGH_DISK = 5 * 2**30  # bytes: a base image, some snapshots, room for workspaces
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    detail: str  # what was found, or the remedy


def diagnose(cache_dir: Path) -> list[Finding]:
    """Look at everything, in the order in which a run needs it."""
    return [
        Finding(what="python", ok=True, detail=f"{sys.version.split()[0]} at {sys.prefix}"),
        _git(),
        *(_sandbox(probe) for probe in probe_all(cache_dir=cache_dir)),
        _engine(),
        _base_image(),
        _disk(cache_dir),
        *_leftovers(cache_dir),
        _keys(),
    ]


def _git() -> Finding:
    from agentbench.tasks.host_git import git

    if shutil.which("git") is None:
        return Finding(what="git", ok=False, detail="not on PATH; install git")
    version = git("--version", cwd=Path.cwd())
    return Finding(what="git", ok=version.ok, detail=version.stdout.decode().strip())


def _sandbox(probe: Probe) -> Finding:
    lacks = f"\ndoes not promise: {', '.join(probe.missing)}" if probe.missing else ""
    return Finding(
        what=f"sandbox {probe.name}", ok=probe.available, detail=f"{probe.detail}{lacks}"
    )


def _engine() -> Finding:
    from agentbench.sandbox.docker_checkup import check_up

    seen = check_up(os.environ)
    lines = [seen.found, *seen.faults, *seen.remarks]
    return Finding(what="container engine", ok=not seen.faults, detail="\n".join(lines))


def _base_image() -> Finding:
    from agentbench.sandbox.docker_engine import Engine
    from agentbench.sandbox.images import list_images

    try:
        found = list_images(Engine.connect())
    except (UnavailableError, SandboxError):
        return Finding(what="base image", ok=False, detail="needs a container engine")
    return base_image_finding([image.name for image in found])


def base_image_finding(names: Sequence[str]) -> Finding:
    """Whether the image is there that tasks without one of their own start from as a rule."""
    from agentbench.sandbox.images import name_of
    from agentbench.sandbox.pytest_stack import DEFAULT_PYTHON

    there = name_of(DEFAULT_PYTHON) in names
    shown = ", ".join(names) or "none"
    if not there and names:
        shown += f"; the default one, {name_of(DEFAULT_PYTHON)}, is missing"
    remedy = "" if there else "; make it: agentbench images build"
    return Finding(what="base image", ok=there, detail=f"{shown}{remedy}")


def _disk(cache_dir: Path) -> Finding:
    place = next(path for path in (cache_dir, *cache_dir.parents) if path.exists())
    free = shutil.disk_usage(place).free
    detail = f"{free / 2**30:.1f} GiB free at {cache_dir}"
    writable = os.access(place, os.W_OK)
    if not writable:
        detail += "; not writable: set AGENTBENCH_CACHE to a folder that is"
    elif free < _ENOUGH_DISK:
        detail += "; make room, or set AGENTBENCH_CACHE to another disk"
    return Finding(what="disk", ok=writable and free >= _ENOUGH_DISK, detail=detail)


def _leftovers(cache_dir: Path) -> Iterator[Finding]:
    from agentbench.cli.leftovers import every_leftover

    dead = [each for each in every_leftover(cache_dir) if not each.owner_alive]
    detail = "none" if not dead else f"{_kinds(dead)}; remove them: agentbench clean"
    yield Finding(what="leftovers", ok=not dead, detail=detail)


def _kinds(leftovers: list[Leftover]) -> str:
    kinds = sorted({each.kind for each in leftovers})
    return ", ".join(f"{sum(e.kind == kind for e in leftovers)} {kind}(s)" for kind in kinds)


def _keys() -> Finding:
    present = [name for name in _KEYS if os.environ.get(name)]
    detail = f"present: {', '.join(present)}" if present else "none; oracle and noop need none"
    return Finding(what="API keys", ok=True, detail=detail)
