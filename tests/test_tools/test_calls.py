from threading import Event

import pytest

from agentbench.errors import SandboxError
from agentbench.tasks.test_command import TestCommand, parse_test_command
from agentbench.test_runs.python_runners import reporter_mounts
from agentbench.test_tools.arguments import DiscoverArguments, ExecuteArguments
from agentbench.test_tools.project import CallControl, call_tests, sandbox_project
from tests.fakes.local_sandbox import LocalSandbox


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


def test_whoever_follows_a_run_hears_of_its_end(sandbox):
    told = []
    asked(sandbox, ExecuteArguments(), CallControl(cancel=Event(), progress=told.append))
    assert told[-1].done == 2


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
