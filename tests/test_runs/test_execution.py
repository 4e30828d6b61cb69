from datetime import timedelta

import pytest

from agentbench.errors import SandboxError
from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.fallback import read_junit
from agentbench.test_runs.report_files import read_report_files
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.test_runs.interpreters import NEWEST, requirements
from tests.test_runs.scenarios import EVERYTHING, SCENARIOS, TWO

MODULE = TestCommand(as_module=True, options=("-p", "no:cacheprovider"))
MINUTE = timedelta(minutes=1)


def request_with(command=MODULE, **fields):
    return RunRequest(runner=runner_of(command), timeout=MINUTE, **fields)


def test_tests_are_discovered_without_being_run(open_sandbox):
    files = {"test_m.py": TWO, "test_bad.py": "import nope_nope", "test_run.py": "1 / 0"}
    sandbox = open_sandbox(files, *requirements(NEWEST))
    found = execute_tests(sandbox, request_with(targets=("test_m.py",), collect_only=True))
    assert found.node_ids == ("test_m.py::test_a", "test_m.py::test_b")
    assert found.result.collection_errors == ()
    assert found.result.outcome == "passed"
    assert found.result.tests == ()

    found = execute_tests(sandbox, request_with(collect_only=True))
    assert found.node_ids == ("test_m.py::test_a", "test_m.py::test_b")
    assert {error.file for error in found.result.collection_errors} == {
        "test_bad.py",
        "test_run.py",
    }


def test_missing_pytest_differs_from_a_failure(open_sandbox):
    run = execute_tests(open_sandbox({"test_m.py": TWO}), request_with())
    assert run.result.outcome == "spawn"
    assert "No module named 'pytest'" in run.result.spawn_error


def test_missing_interpreter_differs_from_a_failure(open_sandbox):
    command = TestCommand(as_module=True, interpreter="python3.99")
    run = execute_tests(open_sandbox({"test_m.py": TWO}), request_with(command))
    assert run.result.outcome == "spawn"
    assert "no such interpreter" in run.result.spawn_error


def test_a_sandbox_that_is_to_end_is_killed_before_its_report_is_read(open_sandbox):
    sandbox = open_sandbox({"test_m.py": TWO}, *requirements(NEWEST))
    run = execute_tests(sandbox, request_with(), end_sandbox=True)
    assert run.facts.outcome == "passed"
    assert run.facts.passed == 2
    with pytest.raises(SandboxError):
        execute_tests(sandbox, request_with())


REMOVING = """
import pathlib, shutil
def remove():
    for folder in pathlib.Path("../results").iterdir():
        shutil.rmtree(folder)
"""


@pytest.mark.parametrize(
    ("source", "outcome", "report"),
    [
        ("import atexit\natexit.register(remove)\ndef test_a(): pass\n", "unverified", "exit_code"),
        ("def test_a(): remove()\n", "passed", "json_report"),
    ],
)
def test_removed_reports_show_in_the_source(open_sandbox, source, outcome, report):
    sandbox = open_sandbox({"test_m.py": REMOVING + source}, *requirements(NEWEST))
    run = execute_tests(sandbox, request_with())
    assert (run.result.outcome, run.result.source) == (outcome, report)


def test_junit_agrees_with_the_stream(open_sandbox):
    sandbox = open_sandbox({"test_every.py": EVERYTHING}, *requirements(NEWEST))
    run = execute_tests(sandbox, request_with())
    (folder,) = {part for part in run.command.argv if part.startswith(str(sandbox.results))}
    junit = read_junit(read_report_files(sandbox, sandbox.results / folder).junit)
    described = {case.node_id: case.outcome for case in junit.results.values()}

    unlike = {
        node_id for node_id, word in SCENARIOS[0].tests.items() if described.get(node_id) != word
    }
    assert unlike == {"test_every.py::test_xpasses"}  # junit has no word for it
