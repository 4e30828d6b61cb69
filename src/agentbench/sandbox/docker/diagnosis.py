"""What `doctor` says about the container engine: how it was found, and what is wrong with it."""

import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.docker.engine import Engine, EngineFacts

_ENOUGH_DISK = 5 * 2**30  # bytes: a base image and some snapshots
_LAYERED = ("overlay", "overlay2", "fuse-overlayfs", "overlayfs", "btrfs", "zfs")
_KNOCK_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDiagnosis:
    """What was found."""

    found: str  # what answers, and by which way it was found; or why none does
    faults: tuple[str, ...]  # with what to do about each
    remarks: tuple[str, ...]  # what is good to know


def diagnose_engine(environ: Mapping[str, str]) -> EngineDiagnosis:
    """Look at the engine that would be used."""
    try:
        engine = Engine.connect()
        facts = engine.facts
    except (UnavailableError, SandboxError) as fault:
        return EngineDiagnosis(
            found=str(fault), faults=("no engine answers",), remarks=_others(environ)
        )
    return EngineDiagnosis(
        found=f"{facts.product} {facts.version}, API {facts.api_version}, at "
        f"{engine.base_url or engine.address.socket}, found by {engine.address.found_by}",
        faults=tuple(_faults(engine, facts)),
        remarks=tuple(_remarks(engine, facts)),
    )


def podman_sockets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The usual sockets of Podman that answer."""
    folders = ["/run", environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"]
    paths = (Path(folder, "podman", "podman.sock") for folder in folders)
    return tuple(str(path) for path in paths if _answers(path))


def _faults(engine: Engine, facts: EngineFacts) -> Iterator[str]:
    if facts.storage_driver not in _LAYERED:
        yield (
            f"its storage driver {facts.storage_driver} copies the whole image for each container: "
            "have it use overlay2"
        )
    if not facts.seccomp:
        yield "it has no seccomp: start it without seccomp turned off, on a kernel that has it"
    free = _free(engine, facts)
    if free is not None and free < _ENOUGH_DISK:
        yield (
            f"{free / 2**30:.1f} GiB are free in {facts.root}: see `docker system df` and "
            "`agentbench clean`"
        )


def _remarks(engine: Engine, facts: EngineFacts) -> Iterator[str]:
    yield f"control groups of version {facts.cgroup_version}, storage {facts.storage_driver}"
    if engine.is_local:
        yield "it is on this machine; files that it does not see in place are copied in"
    else:
        yield "it is elsewhere: our files are copied in, and models are led to by its connection"
    if facts.seccomp and not facts.closes_user_namespaces:
        yield (
            "its seccomp profile lets commands make user namespaces; Docker's does not, which "
            "`seccomp_profile` in its containers.conf can name"
        )
    if _free(engine, facts) is None:
        yield "how full its disk is cannot be seen from here"


def _others(environ: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        f"Podman's socket answers: set DOCKER_HOST=unix://{path} to use it"
        for path in podman_sockets(environ)
    )


def _free(engine: Engine, facts: EngineFacts) -> int | None:
    """Bytes on the engine's disk, if that is one of this machine."""
    if not engine.is_local or not facts.root:
        return None
    try:
        return shutil.disk_usage(facts.root).free
    except OSError:
        return None


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as knocking:
        knocking.settimeout(_KNOCK_SECONDS)
        try:
            knocking.connect(str(path))
        except OSError:
            return False
    return True
