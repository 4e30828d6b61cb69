"""What doctor says of the engine: the way by which it was found, faults with remedies, hints."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from agentbench.sandbox.docker import diagnosis
from agentbench.sandbox.docker.diagnosis import diagnose_engine, podman_sockets
from agentbench.sandbox.docker.engine import Engine
from tests.sandbox.docker_fixtures import engine

__all__ = ["engine"]


@pytest.fixture
def runtime_dir(tmp_path: Path) -> Path:
    (tmp_path / "podman").mkdir()
    return tmp_path


def test_without_an_engine_the_reason_is_told_and_a_podman_that_answers(
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


def test_a_socket_that_nobody_listens_on_is_no_hint(runtime_dir: Path) -> None:
    path = runtime_dir / "podman" / "podman.sock"
    with socket.socket(socket.AF_UNIX) as closed:
        closed.bind(str(path))
    assert str(path) not in podman_sockets({"XDG_RUNTIME_DIR": str(runtime_dir)})


@pytest.mark.docker
def test_an_engine_that_answers_is_told_with_the_way_to_it(
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
        said = " ".join(diagnosis._remarks(engine, replace(engine.facts, runtimes=names)))
        assert f"runtimes: {', '.join(names)}" in said
        assert hint in said


@pytest.mark.docker
def test_what_is_not_as_it_should_be_comes_with_what_to_do(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "_ENOUGH_DISK", 1 << 60)
    poor = replace(engine.facts, storage_driver="vfs", seccomp=False)
    said = " ".join(diagnosis._faults(engine, poor))
    assert "configure it to use overlay2" in said
    assert "no seccomp" in said
    assert ("agentbench clean" in said) is engine.address.is_local
