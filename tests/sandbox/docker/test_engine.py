import gc
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest

from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.docker.engine import DockerNotFoundError, Engine, EngineProduct, read_facts
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Command, ImageId, Promise, ReadOnlyMount
from tests.patience import HANG_SECONDS, with_growing_limit
from tests.sandbox.conformance_base import LIMITS, sh
from tests.sandbox.docker_fixtures import engine, foreign_image, import_image
from tests.sandbox.forwarder import forwarding
from tests.sandbox.second_engine import SecondEngine, second_engine

INFO = {
    "ServerVersion": "20.10.24",
    "OperatingSystem": "Debian GNU/Linux 12",
    "CgroupVersion": "2",
    "NCPU": 4,
    "MemoryLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=default"],
}
DOCKER = {"ApiVersion": "1.41", "Components": [{"Name": "Engine"}, {"Name": "containerd"}]}
PODMAN = {"ApiVersion": "1.41", "Components": [{"Name": "Podman Engine"}]}


def test_an_engine_on_a_whole_kernel_promises_all() -> None:
    facts = read_facts(INFO, DOCKER)
    assert facts.promises == frozenset(Promise)
    assert (facts.product, facts.version, facts.cpus) == (EngineProduct.DOCKER, "20.10.24", 4)
    assert facts.isolation == (
        "container, no capabilities except for root, no new privileges, seccomp, users not remapped"
    )
    assert facts.user_processes is None


@pytest.mark.parametrize(
    ("lacks", "gaps"),
    [
        ({"MemoryLimit": False}, {Promise.MEMORY_LIMIT, Promise.TELLS_OOM}),
        ({"PidsLimit": None}, {Promise.PIDS_LIMIT}),
        ({"CpuCfsQuota": False}, {Promise.CPU_LIMIT}),
        ({"SecurityOptions": None}, {Promise.UNPRIVILEGED}),
    ],
)
def test_missing_kernel_feature_removes_its_promise(
    lacks: dict[str, object], gaps: set[Promise]
) -> None:
    assert read_facts({**INFO, **lacks}, DOCKER).promises == frozenset(Promise) - gaps


def test_podman_is_known_by_its_component_and_leaves_user_namespaces_open() -> None:
    facts = read_facts(INFO, PODMAN)
    assert facts.product is EngineProduct.PODMAN
    assert facts.promises == frozenset(Promise) - {Promise.UNPRIVILEGED}
    assert "user namespaces" in facts.isolation
    assert facts.user_processes


def test_missing_facts_are_unknown() -> None:
    facts = read_facts({}, {})
    assert (facts.version, facts.storage_driver, facts.cgroup_version) == (
        "unknown",
        "unknown",
        "1",
    )
    assert facts.cpus == 1
    assert "no seccomp" in facts.isolation


__all__ = ["engine", "foreign_image"]

IMAGE = "agentbench-test/foreign"


def test_no_engine_is_unavailable_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="systemctl start docker") as caught:
        Engine.connect(f"unix://{tmp_path}/no.sock")
    assert f"{tmp_path}/no.sock" in str(caught.value)


def test_an_address_that_is_none_is_unavailable() -> None:
    with pytest.raises(UnavailableError):
        Engine.connect("nonsense://x")


@pytest.mark.docker
def test_missing_object_differs_from_a_lost_engine(engine: Engine) -> None:
    with pytest.raises(DockerNotFoundError, match="find the image no/such"):
        engine.image("no/such")


@pytest.fixture
def second() -> Iterator[SecondEngine]:
    if os.getuid() != 0 or not shutil.which("dockerd") or not shutil.which("ip"):
        pytest.skip("a second engine needs root, dockerd and ip")
    # Not tmp_path: its name is longer than that of a socket may be.
    with (
        tempfile.TemporaryDirectory(prefix="ab-", ignore_cleanup_errors=True) as folder,
        second_engine(Path(folder)) as started,
    ):
        yield started


@pytest.mark.docker
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_engine_that_dies_during_a_command_is_an_error_of_the_sandbox(
    second: SecondEngine, number: signal.Signals
) -> None:
    provider = _provider_of(second)
    command = Command(
        argv=("sh", "-c", "echo up; sleep 1000"),
        timeout=timedelta(minutes=5),
        sink=lambda _stream, _data: second.end(number),
    )
    before = time.monotonic()
    with (
        pytest.raises(SandboxError, match="does not answer any more"),
        provider.open(ImageId(IMAGE), limits=LIMITS, network=False) as sandbox,
    ):
        sandbox.run(command)
    assert time.monotonic() - before < HANG_SECONDS  # the command may take 300 s


@pytest.mark.docker
def test_a_frozen_engine_does_not_put_off_the_deadline_for_ever(second: SecondEngine) -> None:
    provider, frozen = _provider_of(second), []

    def freeze(_stream: object, _data: bytes) -> None:
        second.freeze()
        frozen.append(True)

    def run(seconds: float) -> str:
        argv = ("sh", "-c", "echo up; sleep 1000")
        command = Command(argv=argv, timeout=timedelta(seconds=seconds), sink=freeze)
        try:
            with provider.open(ImageId(IMAGE), limits=LIMITS, network=False) as sandbox:
                sandbox.run(command)
        except SandboxError as fault:
            return str(fault)
        return ""

    # That a ping is not answered: an ordinary request would be waited for much longer.
    assert "does not answer any more" in with_growing_limit(run, lambda _said: frozen)


@pytest.mark.docker
def test_files_that_an_engine_does_not_see_are_copied_in(second: SecondEngine) -> None:
    folder = second.hidden / "folder"
    folder.mkdir()
    (folder / "file").write_text("text")
    mounts = [
        ReadOnlyMount(name="a", source=second.hidden, shared=True),
        ReadOnlyMount(name="b", source=folder, shared=True),
    ]
    for mount in mounts:  # there, but empty in its eyes; and not there at all
        provider = _provider_of(second)
        assert provider.describe()["files"] == "shared"
        found = _files_at(provider, mount)
        assert found == ("folder\n" if mount.name == "a" else "file\n")
        assert provider.describe()["files"] == "copied in"


@pytest.mark.docker
def test_an_engine_that_is_reached_by_tcp_gets_files_copied_in(
    engine: Engine, foreign_image: str, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "file").write_text("text")
    if not engine.address.is_local:
        pytest.skip("the engine is elsewhere anyway")
    path = (engine.address.url or "/var/run/docker.sock").removeprefix("unix://")
    with forwarding(path) as port:
        provider = DockerProvider.connect(base_url=f"tcp://127.0.0.1:{port}")
        mount = ReadOnlyMount(name="a", source=tmp_path)
        found = _files_at(provider, mount, image=foreign_image)
    assert found == "file\n"


def _files_at(provider: DockerProvider, mount: ReadOnlyMount, image: str = IMAGE) -> str:
    with provider.open(ImageId(image), limits=LIMITS, network=False, mounts=[mount]) as sandbox:
        inside = sandbox.mounted(mount.name)
        assert not sh(sandbox, f"touch {inside}/mine").ok
        return sh(sandbox, f"ls {inside}").stdout


def _provider_of(second: SecondEngine) -> DockerProvider:
    engine = second.await_engine()
    import_image(engine, IMAGE)
    return DockerProvider(engine)


def descriptors() -> int:
    """How many this process holds."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.docker
def test_number_of_open_connections_is_limited(engine: Engine) -> None:
    before = descriptors()
    for number in range(30):
        with pytest.raises(DockerNotFoundError), engine.api("look") as api:
            api.inspect_container(f"agentbench-test-none-{number}")
    assert descriptors() - before <= 8


@pytest.mark.docker
def test_connections_end_with_their_thread(engine: Engine) -> None:
    def speak() -> None:
        with engine.api("knock") as api:
            api.ping()

    def after(threads: int) -> int:
        for _ in range(threads):
            thread = Thread(target=speak)
            thread.start()
            thread.join()
        return descriptors()

    gc.disable()  # which would close them some day, too
    try:
        before = after(1)
        assert after(12) <= before
    finally:
        gc.enable()
