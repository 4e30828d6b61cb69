import os
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.sandbox.host_environment import host_python
from agentbench.sandbox.interface import Command, Limits
from agentbench.sandbox.process.provider import ProcessRunner
from agentbench.sandbox.trees import FileOwner
from agentbench.scoring.evidence import Ending


def runner(folder: Path, user: FileOwner | None = None) -> ProcessRunner:
    return ProcessRunner(
        python=host_python().executable,
        user=user,
        folder=folder,
        limits=Limits(),
        environment={"PATH": "/usr/bin:/bin"},
    )


def command(*argv: str, seconds: float = 60.0) -> Command:
    return Command(argv=argv, timeout=timedelta(seconds=seconds))


def never() -> bool:
    return False


def test_an_argument_may_be_longer_than_one_of_the_keeper_may(tmp_path: Path) -> None:
    result = runner(tmp_path).run(command("sh", "-c", "echo ${#1}; #", "x", "y" * 100_000), never)
    assert result.stdout == "100000\n"


def test_a_deadline_is_told(tmp_path: Path) -> None:
    result = runner(tmp_path).run(command("sleep", "1000", seconds=1), never)
    assert (result.ending, result.exit_code) == (Ending.TIMED_OUT, None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another")
def test_a_command_runs_as_the_user_that_it_is_for() -> None:
    dropped = runner(Path("/"), FileOwner(uid=60706, gid=60706))
    assert dropped.run(command("id", "-u"), never).stdout == "60706\n"
    groups = dropped.run(command("id", "-G"), never)
    assert groups.stdout == "60706\n"
