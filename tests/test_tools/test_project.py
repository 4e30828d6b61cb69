import sys
from pathlib import Path, PurePosixPath

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Command
from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs.python_runners import reporter_mounts
from agentbench.test_tools.arguments import (
    InvalidArgumentsError,
    PathOutsideRootError,
)
from agentbench.test_tools.project import (
    ResolvedPaths,
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
def test_what_is_there_and_inside_may_be_tested(root, path):
    check_targets("paths", [path, str(root / path)], root, resolve_on_host)


@pytest.mark.parametrize(
    "path",
    ["..", "../root", "tests/../tests", "outside", "/", "/etc", "outside[x]"],
)
def test_what_leads_outside_or_climbs_is_refused(root, path):
    with pytest.raises(PathOutsideRootError, match=r"paths\[1\]: leads out"):
        check_targets("paths", ["tests", path], root, resolve_on_host)


@pytest.mark.parametrize("path", ["nowhere", "tests/nowhere.py", "loop", "a" * 3000])
def test_what_is_not_there_is_said(root, path):
    with pytest.raises(InvalidArgumentsError, match=r"paths\[0\]: no such file"):
        check_targets("paths", [path], root, resolve_on_host)


@pytest.mark.parametrize("path", ["tests/test_a.py::test_x", "tests::x", "test_a.py::T::test_x[1]"])
def test_a_node_id_among_paths_is_told_to_be_one_of_node_ids(root, path):
    with pytest.raises(InvalidArgumentsError, match=r"paths\[0\]: is a node id; .* node_ids"):
        check_targets("paths", [path], root, resolve_on_host)


def test_of_an_id_the_file_counts(root):
    check_targets("node_ids", ["tests/test_a.py::test_x[../../etc]"], root, resolve_on_host)
    with pytest.raises(PathOutsideRootError):
        check_targets("node_ids", ["outside/x.py::tests"], root, resolve_on_host)


def test_a_sandbox_follows_links_as_this_machine_does(root, tmp_path, plain_python):
    sandbox = LocalSandbox(tmp_path / "sandbox", plain_python, reporter_mounts())
    paths = [str(root / name) for name in ("inside", "outside", "loop", "nowhere", "tests/\u00fc")]
    assert resolve_in_sandbox(sandbox, paths) == resolve_on_host(paths)


def test_a_sandbox_that_cannot_tell_is_lost(tmp_path, plain_python):
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
