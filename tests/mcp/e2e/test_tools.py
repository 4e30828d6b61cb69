"""The tools without a wire: the same functions as the judge's, in every kind of sandbox."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from threading import Event

import pytest

from agentbench.errors import RunCancelled, SandboxError
from agentbench.mcp.local_project import local_project
from agentbench.mcp.pytest_tools import ExplainArguments, call_pytest_tool
from agentbench.sandbox.interface import Command, Limits, Sandbox, SandboxProvider
from agentbench.scoring.evidence import CommandResult
from agentbench.tasks.test_command import TestCommand, parse_test_command
from agentbench.test_runs.python_runners import reporter_mounts
from agentbench.test_tools.arguments import (
    DiscoverArguments,
    ExecuteArguments,
    ToolArguments,
)
from agentbench.test_tools.envelope import SERIALIZED_FIELDS
from agentbench.test_tools.project import CallControl, sandbox_project
from tests.fakes.staging import Desk, go, local_provider, prepare, small_task, staged
from tests.sandbox.conformance_base import sh


class Recording:
    """A sandbox that keeps the last pytest run, and stands in for the place where it ran."""

    def __init__(self, inner: Sandbox) -> None:
        self._inner = inner
        self.workspace = inner.workspace
        self.results = inner.results
        self.ended: CommandResult | None = None
        self.reports: bytes | None = None
        self.over = False

    def run(self, command: Command) -> CommandResult:
        if self.over:
            assert self.ended is not None
            return self.ended
        ended = self._inner.run(command)
        if "--results" in command.argv:
            self.ended = ended
        return ended

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    @contextmanager
    def read_tree(self, path: PurePosixPath) -> Iterator[Iterator[bytes]]:
        if not self.over:
            with self._inner.read_tree(path) as chunks:
                self.reports = b"".join(chunks)
        assert self.reports is not None
        yield iter([self.reports])


class RecordingProvider:
    """A provider whose last sandbox is a recording; it can be replayed after its end."""

    def __init__(self, inner: SandboxProvider) -> None:
        self._inner = inner
        self.last: Recording | None = None

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    @contextmanager
    def open(self, source, **options) -> Iterator[Recording]:
        with self._inner.open(source, **options) as sandbox:
            self.last = Recording(sandbox)
            yield self.last
        self.last.over = True


pytestmark = pytest.mark.full


def asked(project, arguments, watch=None):
    return call_pytest_tool(project, arguments, watch or CallControl(cancel=Event()))


@pytest.fixture
def project(tmp_path, plain_python):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_m.py").write_text("def test_a(): pass\ndef test_b(): assert 0\n")
    return local_project(tmp_path, python=plain_python, environ=os.environ)


def test_the_judges_record_of_a_run_and_the_tools_answer_are_equal_field_by_field(tmp_path):
    provider, desk = RecordingProvider(local_provider()), Desk(tmp_path)
    task = small_task(tmp_path / "small")
    with staged(task, provider, desk) as context:
        prepare(context)
        go(context, "baseline_run")
    record = json.loads(desk.read("baseline.json"))

    command = parse_test_command(task.problem.test_command)
    project = sandbox_project(provider.last, command, env={}, isolated=True)
    answer = asked(project, ExecuteArguments(detail="full"))

    shown = project.mask.value(record)
    assert record["summary"]["failed"] == 2
    assert set(SERIALIZED_FIELDS) == set(record)
    assert {name: answer[name] for name in SERIALIZED_FIELDS} == {
        name: shown[name] for name in SERIALIZED_FIELDS
    }
    assert [case["node_id"] for case in answer["tests"]] == [
        case["node_id"] for case in record["tests"]
    ]


def test_ids_are_relative_to_the_root_whatever_the_paths_have_in_common(project):
    listed = asked(project, DiscoverArguments(paths=["tests"]))["node_ids"]
    assert listed == ["tests/test_m.py::test_a", "tests/test_m.py::test_b"]
    again = asked(project, ExecuteArguments(node_ids=listed[:1]))
    assert again["outcome"] == "passed"


def test_the_last_failures_can_be_repeated(project):
    asked(project, ExecuteArguments())
    again = asked(project, ExecuteArguments(last_failed=True))
    assert [case["node_id"] for case in again["tests"]] == ["tests/test_m.py::test_b"]


def test_a_selection_reaches_pytest(project):
    answer = asked(project, ExecuteArguments(keyword="test_a", markers="not slow", max_failures=1))
    assert answer["summary"]["passed"] == 1
    assert answer["summary"]["deselected"] == 1


def test_nothing_of_the_servers_environment_but_the_harmless_reaches_the_tests(
    tmp_path, plain_python
):
    (tmp_path / "test_env.py").write_text(
        "import os\ndef test_env(): assert sorted(os.environ) == 0\n"
    )
    environ = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "API_TOKEN": "x", "PYTHONPATH": "y"}
    project = local_project(tmp_path, python=plain_python, environ=environ)
    (case,) = asked(project, ExecuteArguments())["tests"]
    assert "HOME" in case["message"]
    assert "API_TOKEN" not in case["message"]
    assert "PYTHONPATH" not in case["message"]


def test_without_pytest_the_answer_says_what_was_tried_in_order(tmp_path, bare_python):
    (tmp_path / ".venv").symlink_to(bare_python.parents[1])
    environ = {"VIRTUAL_ENV": "/no/such/environment", "PATH": str(bare_python.parent)}
    project = local_project(tmp_path, python=None, environ=environ)
    answer = asked(project, ExecuteArguments())
    assert answer["outcome"] == "spawn"
    result = answer["message"].partition("Tried, in this order: ")[2].split("; ")
    assert [words.partition(" (")[0] for words in result] == [
        "1. VIRTUAL_ENV",
        "2. .venv",
        "3. venv",
        "4. .virtualenv",
        "5. python on PATH",
        "6. python3 on PATH",
    ]
    assert result[0].endswith("not there")
    assert result[1] == "2. .venv (.venv/bin/python): ModuleNotFoundError: No module named 'pytest'"


def test_the_first_environment_with_pytest_is_taken(tmp_path, bare_python, plain_python):
    (tmp_path / ".venv").symlink_to(bare_python.parents[1])
    (tmp_path / "venv").symlink_to(plain_python.parents[1])
    (tmp_path / "test_m.py").write_text("def test_a(): pass\n")
    project = local_project(tmp_path, python=None, environ={"PATH": os.environ["PATH"]})
    assert asked(project, ExecuteArguments())["outcome"] == "passed"


def test_a_sandbox_that_is_lost_is_told_as_a_pytest_that_did_not_start(project):
    @contextmanager
    def lost():
        raise SandboxError("the engine is gone, see /var/run/engine.sock")
        yield

    answer = asked(replace(project, open=lost), ExecuteArguments())
    assert answer["outcome"] == "spawn"
    assert answer["message"].endswith("the engine is gone, see <host>")


@contextmanager
def opened_project():
    """An empty project in a real sandbox."""
    provider = local_provider()
    image = provider.resolve_image(None)
    mounts = reporter_mounts()
    with provider.open(image, limits=Limits(), network=False, mounts=mounts) as sandbox:
        yield (
            sandbox_project(sandbox, TestCommand(as_module=True), env={}, isolated=True),
            sandbox,
        )


@pytest.mark.parametrize("paths", [["../.."], ["link"], ["tests/../../x"]])
def test_in_a_sandbox_paths_are_resolved_inside_it(paths):
    with opened_project() as (project, sandbox):
        sh(sandbox, "ln -s /usr link; mkdir tests; echo 'def test_a(): pass' > tests/test_a.py")
        assert asked(project, ExecuteArguments(paths=paths))["outcome"] == "path_outside_root"
        assert asked(project, ExecuteArguments(paths=["tests"]))["outcome"] == "passed"


def test_cancelling_a_call_in_a_sandbox_leaves_the_sandbox_for_the_next():
    with opened_project() as (project, sandbox):
        sh(sandbox, "echo 'import time\ndef test_a(): time.sleep(600)' > test_a.py")
        cancel = Event()
        watch = CallControl(cancel=cancel, progress=lambda _: cancel.set())
        with pytest.raises(RunCancelled):
            asked(project, ExecuteArguments(), watch)
        assert asked(project, DiscoverArguments())["outcome"] == "discovered"


def test_an_exit_code_is_explained_for_a_stage(project):
    answer = asked(project, ExplainArguments(exit_code=124, stage="setup"))
    assert "SETUP_TIMEOUT" in answer["explanation"]
    assert "git_clone" not in answer["explanation"]


def test_arguments_of_no_tool_are_a_bug(project):
    with pytest.raises(TypeError, match="unknown arguments: ToolArguments"):
        asked(project, ToolArguments())
