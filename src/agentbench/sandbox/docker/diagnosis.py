"""The report of `doctor` about the container engine: how it was found, and its faults."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.docker.compose_program import find_compose
from agentbench.sandbox.docker.connection import connect_to_socket
from agentbench.sandbox.docker.engine import Engine, EngineFacts
from agentbench.sandbox.docker.nesting import why_not_nesting
from agentbench.sandbox.interface import Limits

RUNSC = "runsc"
GVISOR_GUIDE = "docs/sandboxes.md, gVisor"
SHARING_GUIDE = "docs/sandboxes.md, Containers that judged runs share"
_ENOUGH_DISK = 5 * 2**30  # bytes: a base image and some snapshots
_LAYERED = ("overlay", "overlay2", "fuse-overlayfs", "overlayfs", "btrfs", "zfs")
_CONNECT_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDiagnosis:
    """The findings about the engine."""

    found: str  # the engine and how it was found, or why no engine answers
    faults: tuple[str, ...]  # each with a remedy
    remarks: tuple[str, ...]


def diagnose_engine(environ: Mapping[str, str]) -> EngineDiagnosis:
    """Examine the engine that runs would use."""
    try:
        engine = Engine.connect()
        facts = engine.facts
    except (UnavailableError, SandboxError) as fault:
        others = tuple(
            f"Podman's socket answers: set DOCKER_HOST=unix://{path} to use it"
            for path in podman_sockets(environ)
        )
        return EngineDiagnosis(found=str(fault), faults=("no engine answers",), remarks=others)
    return EngineDiagnosis(
        found=f"{facts.product} {facts.version}, API {facts.api_version}, at "
        f"{engine.address.url or engine.address.socket}, found by {engine.address.found_by}",
        faults=tuple(_faults(engine, facts)),
        remarks=tuple(_remarks(engine, facts)),
    )


def podman_sockets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The standard sockets of Podman that answer."""
    folders = ["/run", environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"]
    found: list[str] = []
    for folder in folders:
        path = f"{folder}/podman/podman.sock"
        with suppress(OSError):
            connect_to_socket(path, _CONNECT_SECONDS)
            found.append(path)
    return tuple(found)


def _faults(engine: Engine, facts: EngineFacts) -> Iterator[str]:
    if facts.storage_driver not in _LAYERED:
        yield (
            f"its storage driver {facts.storage_driver} copies the whole image for each container: "
            "configure it to use overlay2"
        )
    if not facts.seccomp:
        yield "it has no seccomp: enable it, on a kernel with seccomp"
    free = _free(engine, facts)
    if free is not None and free < _ENOUGH_DISK:
        yield (
            f"{free / 2**30:.1f} GiB are free in {facts.root}: see `docker system df` and "
            "`agentbench clean`"
        )


def _remarks(engine: Engine, facts: EngineFacts) -> Iterator[str]:
    yield f"control groups of version {facts.cgroup_version}, storage {facts.storage_driver}"
    if engine.address.is_local:
        yield "it is on this machine; files that it cannot see are copied"
    else:
        yield "it is remote: our files are copied, and models are reached through its connection"
    if facts.seccomp and not facts.closes_user_namespaces:
        yield (
            "its seccomp profile lets commands create user namespaces: set Docker's profile as "
            "`seccomp_profile` in its containers.conf to forbid it"
        )
    try:
        yield f"services are started by Docker Compose {find_compose(facts).version}"
    except UnavailableError as fault:
        yield str(fault)
    names = f"runtimes: {', '.join(facts.runtimes) or 'unknown'}"
    if RUNSC in facts.runtimes:
        yield f"{names}; --runtime {RUNSC} gives each container a kernel of its own (gVisor)"
    else:
        yield f"{names}; for a kernel of its own per container install gVisor ({GVISOR_GUIDE})"
    yield _sharing(why_not_nesting(engine, Limits()))
    if _free(engine, facts) is None:
        yield "the free space of its disk is unknown"


def _sharing(obstacle: str | None) -> str:
    if obstacle is None:
        return f"with several attempts at a time, judged runs share containers ({SHARING_GUIDE})"
    return (
        f"judged runs cannot share containers, since {obstacle}: with several attempts at a time, "
        "the engine creates three containers per attempt instead of little more than one, which "
        f"takes it about 2.5 times as long ({SHARING_GUIDE})"
    )


def _free(engine: Engine, facts: EngineFacts) -> int | None:
    """Free bytes on the engine's disk, if it is on this machine."""
    if not engine.address.is_local or not facts.root:
        return None
    try:
        return shutil.disk_usage(facts.root).free
    except OSError:
        return None
