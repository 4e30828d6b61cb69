import sys
from pathlib import Path, PurePosixPath
from threading import Event

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Command
from agentbench.tasks.test_command import TestCommand, parse_test_command
from agentbench.test_runs.python_runners import reporter_mounts
from agentbench.test_tools.arguments import (
    DiscoverArguments,
    ExecuteArguments,
    InvalidArgumentsError,
    PathOutsideRootError,
)
from agentbench.test_tools.project import (
    CallControl,
    ResolvedPaths,
    call_tests,
    check_targets,
    resolve_in_sandbox,
    resolve_on_host,
    sandbox_project,
)
from tests.fakes.local_sandbox import LocalSandbox


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "root"
    (root / "tests").mkdir(parents=True)
    (root / "tests" / "test_a.py").touch()
    (root / "tests" / "odd[1].py").touch()
    (root / "inside").symlink_to("tests")
    (root / "outside").symlink_to(tmp_path)
    (root / "loop").symlink_to("loop")
    return PurePosixPath(root)


@pytest.mark.parametrize(
    "path", ["tests", "tests/test_a.py", ".", "inside/test_a.py", "./tests", "tests/odd[1].py"]
)
def test_existing_paths_inside_are_accepted(root, path):
    check_targets("paths", [path, str(root / path)], root, resolve_on_host)


@pytest.mark.parametrize(
    "path",
    ["..", "../root", "tests/../tests", "outside", "/", "/etc", "outside[x]"],
)
def test_paths_outside_are_refused(root, path):
    with pytest.raises(PathOutsideRootError, match=r"paths\[1\]: leads out"):
        check_targets("paths", ["tests", path], root, resolve_on_host)


@pytest.mark.parametrize("path", ["nowhere", "tests/nowhere.py", "loop", "a" * 3000])
def test_missing_path_is_reported(root, path):
    with pytest.raises(InvalidArgumentsError, match=r"paths\[0\]: no such file"):
        check_targets("paths", [path], root, resolve_on_host)


@pytest.mark.parametrize("path", ["tests/test_a.py::test_x", "tests::x", "test_a.py::T::test_x[1]"])
def test_node_id_among_paths_is_reported(root, path):
    with pytest.raises(InvalidArgumentsError, match=r"paths\[0\]: is a node id; .* node_ids"):
        check_targets("paths", [path], root, resolve_on_host)


def test_file_of_a_node_id_is_checked(root):
    check_targets("node_ids", ["tests/test_a.py::test_x[../../etc]"], root, resolve_on_host)
    with pytest.raises(PathOutsideRootError):
        check_targets("node_ids", ["outside/x.py::tests"], root, resolve_on_host)


def test_a_sandbox_follows_links_as_this_machine_does(root, tmp_path, plain_python):
    sandbox = LocalSandbox(tmp_path / "sandbox", plain_python, reporter_mounts())
    paths = [str(root / name) for name in ("inside", "outside", "loop", "nowhere", "tests/\u00fc")]
    assert resolve_in_sandbox(sandbox, paths) == resolve_on_host(paths)


def test_failed_resolution_is_a_lost_sandbox(tmp_path, plain_python):
    class Mute(LocalSandbox):
        def run(self, command):
            return super().run(Command(argv=("false",), timeout=command.timeout))

    sandbox = Mute(tmp_path / "sandbox", plain_python, ())
    with pytest.raises(SandboxError, match="paths could not be checked"):
        resolve_in_sandbox(sandbox, ["/x"])


def test_an_answer_names_every_path():
    assert ResolvedPaths(paths=("/a",), there=(True,)).paths == ("/a",)


def test_a_sandbox_that_is_open_stays_open_from_call_to_call(tmp_path):
    sandbox = LocalSandbox(tmp_path / "sandbox", Path(sys.executable), reporter_mounts())
    project = sandbox_project(sandbox, TestCommand(as_module=True), env={"A": "b"}, isolated=True)
    for _ in range(2):
        with project.open() as opened:
            assert opened is sandbox
    assert (project.root, project.env, project.runs_at_once) == (sandbox.workspace, {"A": "b"}, 1)
    assert project.mask.text(f"{sandbox.workspace}/a.py {sandbox.results}/x") == "a.py <host>"


@pytest.fixture
def sandbox(tmp_path, plain_python):
    sandbox = LocalSandbox(tmp_path / "sandbox", plain_python, reporter_mounts())
    folder = tmp_path / "sandbox" / "workspace"
    (folder / "test_m.py").write_text("def test_a(): pass\ndef test_b(): assert 0\n")
    return sandbox


def asked(sandbox, arguments, watch=None):
    project = sandbox_project(sandbox, TestCommand(as_module=True), env={}, isolated=True)
    return call_tests(project, arguments, watch or CallControl(cancel=Event()))


def test_a_run_and_a_discovery_are_answered_in_the_same_shape(sandbox):
    run, found = asked(sandbox, ExecuteArguments()), asked(sandbox, DiscoverArguments())
    assert (run["outcome"], found["outcome"]) == ("failed", "discovered")
    assert found["node_ids"] == [case["node_id"] for case in run["tests"]]
    assert set(run) == set(found)


@pytest.mark.parametrize(
    ("path", "outcome"), [("../x", "path_outside_root"), ("nowhere", "invalid_arguments")]
)
def test_a_path_that_pytest_is_not_to_see_is_an_answer(sandbox, path, outcome):
    assert asked(sandbox, ExecuteArguments(paths=[path]))["outcome"] == outcome
    assert asked(sandbox, DiscoverArguments(paths=[path]))["outcome"] == outcome


def test_a_lost_sandbox_is_no_answer(sandbox):
    sandbox.lost = True
    with pytest.raises(SandboxError):
        asked(sandbox, ExecuteArguments())


def test_final_progress_is_reported(sandbox):
    described = []
    asked(sandbox, ExecuteArguments(), CallControl(cancel=Event(), progress=described.append))
    assert described[-1].done == 2


def test_tests_of_another_runner_are_run_found_and_selected_by_id_and_name(sandbox, tmp_path):
    folder = tmp_path / "sandbox" / "workspace"
    (folder / "test_m.py").write_text(
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def test_a(self): pass\n    def test_b(self): self.fail()\n"
    )
    command = parse_test_command("python -m unittest")
    project = sandbox_project(sandbox, command, env={}, isolated=True)

    def answer(arguments):
        return call_tests(project, arguments, CallControl(cancel=Event()))

    a, b = "test_m.py::T::test_a", "test_m.py::T::test_b"
    assert answer(DiscoverArguments())["node_ids"] == [a, b]
    assert answer(ExecuteArguments())["outcome"] == "failed"
    for one in (ExecuteArguments(node_ids=[a]), ExecuteArguments(keyword="test_a")):
        assert [case["node_id"] for case in answer(one)["tests"]] == [a]
    refused = answer(ExecuteArguments(markers="slow"))
    assert refused["outcome"] == "invalid_arguments"
    assert "these tests run under unittest" in str(refused)
