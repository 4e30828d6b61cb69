"""The files of one container: private, readable inside, and gone afterwards."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.container import readable_inside
from agentbench.sandbox.docker.engine import Engine, read_facts
from agentbench.sandbox.docker.private_files import HOSTS, RESOLVERS, private_files
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import ImageId, Limits, ReadOnlyMount
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import engine, image, provider

__all__ = ["engine", "image", "provider"]


def engine_with(*security: str) -> Engine:
    """An engine of this machine, as far as its facts say so."""
    info = {"KernelVersion": os.uname().release, "SecurityOptions": [*security]}
    return cast("Engine", SimpleNamespace(facts=read_facts(info, {})))


def test_each_container_has_a_private_folder_until_its_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    mounts = [ReadOnlyMount(name="a", source=tmp_path)]
    with (
        private_files(engine_with(), mounts, LIMITS) as one,
        private_files(engine_with(), mounts, LIMITS) as other,
    ):
        sources = [files.mounts[0].source for files in (one, other)]
        assert len({(source / "file").stat().st_ino for source in (tmp_path, *sources)}) == 3
        assert "/proc/meminfo" in one.replaced
    assert not any(source.exists() for source in sources)


@pytest.mark.parametrize(
    ("security", "runtime"), [("name=selinux", None), ("name=seccomp", "runsc")]
)
def test_kernel_files_are_replaced_only_with_docker(security: str, runtime: str | None) -> None:
    limits = Limits(runtime=runtime)
    with private_files(engine_with(security), [], limits) as files:
        assert not any(path.startswith("/proc") for path in files.replaced)


@pytest.mark.parametrize(
    ("security", "runtime", "written"),
    [("name=seccomp", None, True), ("name=selinux", None, False), ("name=seccomp", "runsc", False)],
)
def test_a_container_without_a_network_gets_its_names_from_our_files(
    security: str, runtime: str | None, *, written: bool
) -> None:
    with private_files(engine_with(security), [], Limits(runtime=runtime), names=True) as files:
        assert {HOSTS, RESOLVERS}.issubset(files.replaced) is written
        if written:
            assert "127.0.0.1\tlocalhost\n" in files.replaced[HOSTS].read_text()
            assert files.replaced[RESOLVERS].read_text().startswith("nameserver ")
    with private_files(engine_with(security), [], Limits(runtime=runtime)) as files:
        assert {HOSTS, RESOLVERS}.isdisjoint(files.replaced)


def test_a_missing_source_is_an_error_of_the_sandbox(tmp_path: Path) -> None:
    mounts = [ReadOnlyMount(name="a", source=tmp_path / "missing")]
    with (
        pytest.raises(SandboxError, match="cannot copy files for a container"),
        private_files(engine_with(), mounts, LIMITS),
    ):
        pass


def test_the_errors_of_the_block_stay_as_they_are() -> None:
    with pytest.raises(BrokenPipeError), private_files(engine_with(), [], LIMITS):
        raise BrokenPipeError


@contextmanager
def strict_umask() -> Iterator[None]:
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.docker
def test_strict_umask_does_not_hide_files_from_commands(
    provider: DockerProvider, image: ImageId, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("text")
    mounts = [ReadOnlyMount(name="a", source=tmp_path)]
    limits = replace(LIMITS, memory_mib=300)
    with (
        strict_umask(),
        provider.open(image, limits=limits, network=False, mounts=mounts) as sandbox,
    ):
        read = sh(sandbox, f"cat {sandbox.mounted('a')}/file && head -1 /proc/meminfo")
    assert read.stdout.split() == ["textMemTotal:", "307200", "kB"]


@pytest.mark.parametrize(
    ("mode", "readable"), [(0o755, True), (0o750, False), (0o744, False), (0o700, False)]
)
def test_folder_must_be_readable_by_others(tmp_path: Path, mode: int, readable: bool) -> None:
    tmp_path.chmod(mode)
    expected = readable or tmp_path.stat().st_uid == 1000
    assert readable_inside(ReadOnlyMount(name="x", source=tmp_path)) is expected
