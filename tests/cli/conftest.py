"""What tests of the command line share: the program called in this process, and one run of it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from agentbench.cli.app import app
from agentbench.errors import AgentbenchError
from agentbench.runs.store.store import RunStore
from tests.e2e.small_task import SmallTask
from tests.fakes.staging import local_provider
from tests.runs.records import configuration, failed, resolved


class Said(NamedTuple):
    """How the program ended and what it printed."""

    code: int
    stdout: str
    stderr: str


def call(*arguments: object) -> Said:
    """Call the program here: an error of ours gives its exit code, a bug of ours is raised."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], prog_name="agentbench")
    error = result.exception
    if isinstance(error, AgentbenchError):
        return Said(error.exit_code, result.stdout, f"{result.stderr}agentbench: {error}\n")
    if error is not None and not isinstance(error, SystemExit):
        raise error
    return Said(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def cli() -> Callable[..., Said]:
    """The program, in this process."""
    return call


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Said]:
    """The program, in a process of its own that sees no engine."""

    def run(*arguments: object, **env: str) -> Said:
        done = subprocess.run(
            [sys.executable, "-m", "agentbench", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/no.sock", **env},
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def sandbox() -> str:
    """The name of a back end that works here."""
    return local_provider().name


@pytest.fixture(scope="session")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two tasks: one that can be resolved, and one whose fix is missing."""
    folder = tmp_path_factory.mktemp("catalogue")
    for name in ("first", "second"):
        (folder / name).mkdir()
        SmallTask(agent="timeout_s = 60").write(folder / name)
    (folder / "second" / "solution.patch").unlink()
    text = (folder / "second" / "task.toml").read_text()
    (folder / "second" / "task.toml").write_text(f'tags = ["unfixed"]\n{text}')
    return folder


@pytest.fixture
def runs_dir(tmp_path: Path) -> Path:
    """A folder with one recorded run of two attempts, made without a sandbox."""
    made = RunStore.create(tmp_path / "runs", configuration(attempts=2))
    for record in (resolved(attempt=1), failed(attempt=2)):
        folder, _ = made.attempt_folder(record.task_id, record.attempt)
        made.append(record, folder)
    return tmp_path / "runs"
