"""A container's disk, as seen from this machine and as told from inside."""

import os
from collections.abc import Iterator

import pytest

from agentbench.sandbox.disk_usage import DiskGauge, DiskUsage, FolderGauge
from agentbench.sandbox.docker.container import ContainerPlan, DockerContainer, WritableFolders
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.volumes import ContainerGauge, gauge_of
from agentbench.sandbox.interface import ImageId, Limits
from agentbench.sandbox.ownership import ProcessOwner
from tests.sandbox.docker_fixtures import engine, image

__all__ = ["engine", "image"]

pytestmark = pytest.mark.docker

WRITE = """
head -c 5M /dev/urandom > /workspace/a
head -c 3M /dev/urandom > /results/b
head -c 2M /dev/urandom > /home/agentbench/c
truncate -s 500M /workspace/sparse
cd /workspace && mkdir many && for n in $(seq 100); do : > many/$n; done
"""
HOLD = (
    "exec 9> /workspace/x; rm /workspace/x; head -c 4M /dev/urandom >&9; echo held; exec sleep 600"
)


@pytest.fixture
def container(engine: Engine, image: ImageId) -> Iterator[DockerContainer]:
    plan = ContainerPlan(image=image, image_env=(), limits=Limits(), owner=ProcessOwner.current())
    created = DockerContainer(engine, plan)
    created.launch()
    yield created
    created.remove()


def described(gauge: DiskGauge) -> DiskUsage:
    """The last word of a gauge."""
    return [found for found in gauge.measure() if found is not None][-1]


def wrote(container: DockerContainer, script: str, until: bytes = b"done") -> None:
    """Run a script in it, until it says so."""
    line = f"{script}\necho done"
    started = container.begin(["/bin/sh", "-c", line], {})
    heard = b""
    while until not in heard:
        assert not started.stream.ended, heard
        heard += b"".join(frame.data for frame in started.stream.receive(0.5))
    started.stream.close()


@pytest.mark.parametrize("inside", [True, False])
def test_all_writable_places_count(container: DockerContainer, inside: bool) -> None:
    gauge = ContainerGauge(container=container) if inside else gauge_of(container)
    if not inside and not isinstance(gauge, FolderGauge):
        pytest.skip("the engine's volumes are no folders of this machine, or not for us")
    before = described(gauge)
    wrote(container, WRITE)
    after = described(gauge)
    assert 100 <= after.files - before.files <= 120
    assert 10 <= (after.bytes - before.bytes) >> 20 <= 12


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees into volumes")
def test_a_file_without_a_name_is_seen_from_outside(container: DockerContainer) -> None:
    gauge = gauge_of(container)
    if not isinstance(gauge, FolderGauge):
        pytest.skip("the engine's volumes are no folders of this machine")
    before = described(gauge)
    wrote(container, HOLD, b"held")
    assert (described(gauge).bytes - before.bytes) >> 20 == 4


def test_folders_of_a_remote_engine_are_measured_inside(
    container: DockerContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = WritableFolders(volumes={}, layer="/no/such/folder", root=None)
    monkeypatch.setattr(container, "writable", elsewhere)
    gauge = gauge_of(container)
    assert isinstance(gauge, ContainerGauge)
    assert gauge.free() is None


def test_stopped_container_yields_no_measurement(container: DockerContainer) -> None:
    container.kill(idle=False)
    assert list(ContainerGauge(container=container).measure()) == []


@pytest.mark.parametrize("script", ["exit 0", "kill -9 $$"])
def test_ended_measurement_yields_nothing(
    container: DockerContainer, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr("agentbench.sandbox.docker.volumes._MEASURE_SCRIPT", script)
    assert [
        reported
        for reported in ContainerGauge(container=container).measure()
        if reported is not None
    ] == []
