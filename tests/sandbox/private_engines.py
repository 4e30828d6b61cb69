"""Engines that the tests start for themselves, as fixtures: one for each module that asks."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentbench.sandbox.docker import images
from agentbench.sandbox.docker.engine import Engine
from tests.needed import DOCKER
from tests.sandbox.docker_fixtures import copy_image
from tests.sandbox.podman_service import PodmanService, missing_programs, podman_service
from tests.sandbox.second_engine import SecondEngine, second_engine

RUNSC = "runsc"
# No hardware virtualisation is needed, and no network: old versions refuse that of new kernels.
_WRAPPER = """#!/bin/sh
exec {runsc} --platform=ptrace --network=none --file-access=shared "$@"
"""


@pytest.fixture(scope="module")
def podman() -> Iterator[PodmanService]:
    need(missing_programs())
    with folder_of_an_engine() as folder, podman_service(folder) as service:
        yield service


@pytest.fixture(scope="module", name="engine")
def podman_engine(podman: PodmanService) -> Engine:
    engine = podman.await_engine()
    give_base_image(engine)
    return engine


@pytest.fixture(scope="module")
def hidden_engine() -> Iterator[SecondEngine]:
    """A Docker engine that sees nothing of ours: no code, no cache, no temporary folder."""
    need_second_engine()
    with (
        folder_of_an_engine() as folder,
        second_engine(folder, hides=_ours(), options=lambda _: ()) as engine,
    ):
        yield engine


@pytest.fixture(scope="module")
def gvisor_engine() -> Iterator[SecondEngine]:
    """A Docker engine with gVisor's runtime, too; its other runtime is the usual one."""
    need_second_engine()
    program = shutil.which(RUNSC)
    need([] if program else [RUNSC])
    with folder_of_an_engine() as folder:
        wrapper = folder / RUNSC
        wrapper.write_text(_WRAPPER.format(runsc=program))
        wrapper.chmod(0o755)
        options = ("--bridge=none", "--iptables=false", f"--add-runtime={RUNSC}={wrapper}")
        with second_engine(folder, options=lambda _: options) as engine:
            yield engine


@contextmanager
def folder_of_an_engine() -> Iterator[Path]:
    """Not below /tmp, which may be hidden, and of a short name, since it holds sockets."""
    with tempfile.TemporaryDirectory(
        prefix="ab-", dir="/var/tmp", ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def give_base_image(engine: Engine) -> None:
    """The base image of the usual engine, which has one or makes it."""
    usual = Engine.connect()
    copy_image(usual, images.build_base_image(usual).name, engine)


def need_second_engine() -> None:
    """Skip, or fail, where no second Docker engine can be started."""
    need([name for name in ("dockerd", "ip", "iptables") if not shutil.which(name)])


def need(missing: list[str]) -> None:
    """Skip, or fail where all engines are required, without some programs or without root."""
    if os.getuid() != 0:
        missing = ["root", *missing]
    if missing:
        DOCKER.refuse(f"an engine of its own, which needs {', '.join(missing)}")


def _ours() -> tuple[Path, ...]:
    import sys

    places = {
        Path(tempfile.gettempdir()),
        Path("/tmp"),
        Path(__file__).parents[2],
        Path(sys.prefix),
    }
    return tuple(place for place in places if not any(above in places for above in place.parents))
