"""What doctor says of the engine: the way by which it was found, faults with remedies, hints."""

import platform
import socket
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from agentbench.sandbox.docker import diagnosis
from agentbench.sandbox.docker.connection import EngineAddress
from agentbench.sandbox.docker.diagnosis import diagnose_engine, podman_sockets
from agentbench.sandbox.docker.engine import Engine, EngineFacts, EngineProduct
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.docker.shared_containers import why_not_nesting
from agentbench.sandbox.interface import Limits
from tests.sandbox.docker_fixtures import engine

pytestmark = pytest.mark.full

__all__ = ["engine"]


@pytest.fixture
def runtime_dir(tmp_path: Path) -> Path:
    (tmp_path / "podman").mkdir()
    return tmp_path


def test_missing_engine_is_reported_with_a_podman_that_answers(
    runtime_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{runtime_dir}/no.sock")
    path = runtime_dir / "podman" / "podman.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        seen = diagnose_engine({"XDG_RUNTIME_DIR": str(runtime_dir)})
    assert "no.sock" in seen.found
    assert seen.faults == ("no engine answers",)
    assert f"Podman's socket answers: set DOCKER_HOST=unix://{path} to use it" in seen.remarks


def test_unused_socket_is_not_suggested(runtime_dir: Path) -> None:
    path = runtime_dir / "podman" / "podman.sock"
    with socket.socket(socket.AF_UNIX) as closed:
        closed.bind(str(path))
    assert str(path) not in podman_sockets({"XDG_RUNTIME_DIR": str(runtime_dir)})


@pytest.mark.docker
def test_engine_is_reported_with_how_it_was_found(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine.address.is_local:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{engine.address.socket}")
    seen = diagnose_engine({})
    assert engine.facts.version in seen.found
    assert seen.found.endswith("found by DOCKER_HOST")
    assert any(f"version {engine.facts.cgroup_version}" in remark for remark in seen.remarks)
    assert sum("Docker Compose" in remark for remark in seen.remarks) == 1


@pytest.mark.docker
def test_runtimes_are_listed_with_how_to_get_or_use_gvisor(engine: Engine) -> None:
    for names, hint in ((("runc",), "install gVisor"), (("runc", "runsc"), "--runtime runsc")):
        reported = " ".join(diagnosis._remarks(engine, replace(engine.facts, runtimes=names)))
        assert f"runtimes: {', '.join(names)}" in reported
        assert hint in reported


@pytest.mark.docker
def test_each_fault_of_the_engine_has_a_remedy(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "_ENOUGH_DISK", 1 << 60)
    poor = replace(engine.facts, storage_driver="vfs", seccomp=False)
    reported = " ".join(diagnosis._faults(engine, poor))
    assert "configure it to use overlay2" in reported
    assert "no seccomp" in reported
    assert ("agentbench clean" in reported) is engine.address.is_local


@pytest.mark.docker
def test_diagnosis_says_whether_judged_runs_share_containers(engine: Engine) -> None:
    reported = diagnose_engine({}).remarks
    shares = DockerProvider(engine).may_nest(Limits())
    assert any("judged runs share containers" in remark for remark in reported) is shares
    assert any("judged runs cannot share containers" in remark for remark in reported) is not shares


LOCAL = EngineAddress(url=None, found_by="its usual socket")
FACTS = EngineFacts(
    product=EngineProduct.DOCKER,
    version="28",
    api_version="1.48",
    operating_system="Debian",
    architecture="x86_64",
    kernel=platform.release(),
    storage_driver="overlay2",
    cgroup_version="2",
    root="/var/lib/docker",
    cpus=2,
    limits_memory=True,
    limits_pids=True,
    limits_cpu=True,
    seccomp=True,
)


@pytest.mark.parametrize(
    ("address", "facts", "limits", "reason"),
    [
        (LOCAL, {}, {}, None),
        (replace(LOCAL, url="ssh://host"), {}, {}, "the engine is remote"),
        (LOCAL, {"product": EngineProduct.PODMAN}, {}, "the engine is podman"),
        (LOCAL, {"kernel": "6.1.0-vm"}, {}, "the engine has the kernel 6.1.0-vm"),
        (LOCAL, {"labels_files": True}, {}, "SELinux labels files"),
        (LOCAL, {"remaps_users": True}, {}, "the engine remaps users"),
        (LOCAL, {}, {"user": "root"}, "commands run as root"),
        (LOCAL, {}, {"runtime": "runsc"}, "containers run with runsc"),
    ],
)
def test_each_obstacle_to_shared_containers_is_named(
    address: EngineAddress, facts: dict[str, object], limits: dict[str, str], reason: str | None
) -> None:
    engine = cast("Engine", SimpleNamespace(address=address, facts=replace(FACTS, **facts)))
    assert why_not_nesting(engine, replace(Limits(), **limits)) == reason
