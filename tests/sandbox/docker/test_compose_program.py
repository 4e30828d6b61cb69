import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer

import pytest

from agentbench.errors import RunCancelled, SandboxError, UnavailableError
from agentbench.sandbox.docker.compose_program import ComposeProgram, find_compose
from agentbench.sandbox.docker.engine import EngineProduct, read_facts
from tests.patience import HANG_SECONDS, wait_until

FACTS = read_facts({}, {})
SHOW = "#!/bin/sh\nenv | sort; echo problem >&2; exit 3\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder with programs, besides the system's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/bin")
    return folder


def put(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def test_the_plug_in_is_preferred_and_the_older_name_is_found(installed: Path) -> None:
    put(installed, "docker", "#!/bin/sh\necho unknown command >&2; exit 1\n")
    put(installed, "docker-compose", "#!/bin/sh\necho v2.26.1\n")
    assert find_compose(FACTS) == ComposeProgram(
        argv=(str(installed / "docker-compose"),), version="2.26.1"
    )
    put(installed, "docker", "#!/bin/sh\necho 2.30.0\n")
    assert find_compose(FACTS).argv == (str(installed / "docker"), "compose")


def test_compose_version_1_is_too_old(installed: Path) -> None:
    put(installed, "docker", "#!/bin/sh\nexit 1\n")
    put(installed, "docker-compose", "#!/bin/sh\necho 1.29.2\n")
    with pytest.raises(UnavailableError, match="need Docker Compose 2"):
        find_compose(FACTS)


def test_podman_runs_no_services() -> None:
    with pytest.raises(UnavailableError, match="need Docker's own engine"):
        find_compose(replace(FACTS, product=EngineProduct.PODMAN))


def test_compose_gets_the_variables_of_the_file_and_few_of_ours(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(installed, "show", SHOW)
    monkeypatch.setenv("SOME_TOKEN", "secret")
    program = ComposeProgram(argv=(str(installed / "show"),), version="2", engine="unix:///e")
    outcome = program.run("x", variables={"PORT": "1", "HOME": "/x"})
    assert (outcome.code, outcome.last_message) == (3, "problem")
    found = dict(line.split("=", 1) for line in outcome.output.splitlines())
    assert (found["PORT"], found["DOCKER_HOST"]) == ("1", "unix:///e")
    assert found.get("HOME") != "/x"
    assert "SOME_TOKEN" not in found


def test_compose_ends_with_the_run_and_at_its_limit(installed: Path) -> None:
    put(installed, "hang", "#!/bin/sh\nsleep 1000\n")
    program, cancel = ComposeProgram(argv=(str(installed / "hang"),), version="2"), Event()
    timer = Timer(0.2, cancel.set)
    timer.start()
    with pytest.raises(RunCancelled):
        program.run(seconds=HANG_SECONDS, cancel=cancel)
    timer.join()
    with pytest.raises(SandboxError, match="did not end in 0 s"):
        program.run(seconds=0.2)


CALLER = """
import sys
from agentbench.sandbox.docker.compose_program import ComposeProgram
ComposeProgram(argv=(sys.argv[1],), version="2").run(seconds=900)
"""


def test_compose_ends_with_its_parent_process(installed: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    put(installed, "hang", f"#!/bin/sh\nsleep 1000 & echo $! > {pid}; wait\n")
    argv = [sys.executable, "-c", CALLER, str(installed / "hang")]
    with subprocess.Popen(argv) as caller:
        wait_until(lambda: pid.is_file() and pid.read_text().endswith("\n"))
        caller.kill()
    child = Path("/proc", pid.read_text().strip(), "cmdline")
    wait_until(lambda: not (child.exists() and child.read_bytes()))
