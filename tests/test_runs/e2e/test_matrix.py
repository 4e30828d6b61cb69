"""Real runs of real pytest versions, each told as what it was."""

import json
import shlex
from datetime import timedelta

import pytest

from agentbench.sandbox.python_stacks import STACKS, stack_for
from agentbench.scoring.evidence import PytestOutcome, ReportSource
from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.model import cases_of
from agentbench.test_runs.parse import ReportFiles, session_of
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.patience import HANG_SECONDS, with_growing_limit
from tests.test_runs.interpreters import PYTEST_VERSIONS, find_python, requirements
from tests.test_runs.scenarios import SCENARIOS

IN_THE_GATE = {PYTEST_VERSIONS[0], PYTEST_VERSIONS[-1]}
ALIKE_OF_OLD = {
    "all pass",
    "stopping at the first failure",
    "tests deselected by keyword",
    "pytest.exit with success",
    "an option that does not exist",
    "a node id that does not exist",
    "no tests",
    "the same test twice",
    "os._exit with success",
}
"""What the newest version alone shows in the gate: the reporter uses nothing that changed since."""


def is_in_the_gate(scenario, version):
    """Every version for the first scenario; the newest and mostly the oldest for the others."""
    if scenario.name in ALIKE_OF_OLD:
        return version == PYTEST_VERSIONS[-1]
    return version in IN_THE_GATE or scenario is SCENARIOS[0]


ROWS = [
    pytest.param(
        scenario,
        version,
        id=f"{scenario.name}, {version}",
        marks=() if is_in_the_gate(scenario, version) else pytest.mark.soak,
    )
    for scenario in SCENARIOS
    for version in scenario.versions
]


def request_for(scenario, seconds=60):
    options = ("-p", "no:cacheprovider", *shlex.split(scenario.options))
    command = TestCommand(as_module=True, options=options)
    return RunRequest(
        runner=runner_of(command),
        targets=scenario.targets,
        timeout=timedelta(seconds=seconds),
        **scenario.extra,
    )


@pytest.mark.parametrize(("scenario", "version"), ROWS)
def test_outcome_of_each_scenario_is_reported(open_sandbox, scenario, version):
    sandbox = open_sandbox(scenario.files, *requirements(version))
    run = with_growing_limit(
        lambda seconds: execute_tests(sandbox, request_for(scenario, seconds)),
        lambda run: run.result.outcome is not PytestOutcome.TIMEOUT,
        limits=scenario.limits,
    )
    result = run.result

    assert result.outcome is scenario.outcome, result.text_output
    assert {case.node_id: case.outcome for case in result.tests} == scenario.tests
    assert result.exit_code == scenario.exit_code
    assert result.complete is scenario.complete
    assert result.source is ReportSource.STREAM
    assert result.versions.pytest == version
    assert tuple(error.file for error in result.collection_errors) == scenario.errors
    for node_id, part in scenario.messages.items():
        (case,) = [case for case in result.tests if case.node_id == node_id]
        assert part in case.message
    if scenario.collected is not None:
        assert result.summary.collected == scenario.collected
    assert_counts_add_up(result)
    assert_the_json_report_tells_the_same(result)
    assert run.facts.internals_changed == ()


def assert_counts_add_up(result):
    summary = result.summary
    words = [case.outcome for case in result.tests]
    assert summary.total == len(words)
    assert summary.errors == words.count("error") + len(result.collection_errors)
    for word in ("passed", "failed", "skipped", "xfailed", "xpassed", "unfinished"):
        assert getattr(summary, word) == words.count(word)


def assert_the_json_report_tells_the_same(result):
    if not result.json_report:
        return
    report = json.dumps(result.json_report)
    session = session_of(ReportFiles(json_report=report), "")
    described = {case.node_id: case.outcome for case in cases_of(session)}
    unlike = {case.node_id for case in result.tests if described.get(case.node_id) != case.outcome}
    assert unlike <= {"test_every.py::TestOld::test_subtests"}  # it cannot tell of subtests


def test_python_3_8_with_pytest_4_6_is_understood(open_sandbox):
    if find_python("3.8") is None:
        pytest.skip("no Python 3.8 on this machine")
    everything = SCENARIOS[0]
    sandbox = open_sandbox(everything.files, "pytest==4.6.11", python="3.8")
    result = execute_tests(sandbox, request_for(everything)).result

    assert result.outcome is everything.outcome
    assert {case.node_id: case.outcome for case in result.tests} == everything.tests
    assert (result.versions.pytest, result.versions.python[:3]) == ("4.6.11", "3.8")


@pytest.mark.parametrize(
    "python",
    [
        pytest.param(each, marks=() if each in {"3.6", "3.9"} else pytest.mark.soak)
        for each in STACKS
    ],
)
def test_pytest_of_each_base_image_is_understood(open_sandbox, python):
    if find_python(python) is None:  # a machine has few of them; the skip is counted by name
        pytest.skip(f"no Python {python} on this machine")
    everything = SCENARIOS[0]
    sandbox = open_sandbox(everything.files, *stack_for(python), python=python)
    result = execute_tests(sandbox, request_for(everything)).result

    assert {case.node_id: case.outcome for case in result.tests} == everything.tests


def test_results_before_the_deadline_are_reported(open_sandbox):
    hanging = "import time\ndef test_a(): pass\ndef test_b(): time.sleep(6000)\n"
    sandbox = open_sandbox({"test_m.py": hanging}, *requirements(PYTEST_VERSIONS[-1]))

    def run_within(seconds):
        command, limit = TestCommand(as_module=True), timedelta(seconds=seconds)
        request = RunRequest(runner=runner_of(command), timeout=limit, targets=("test_m.py",))
        return execute_tests(sandbox, request).result

    result = with_growing_limit(run_within, lambda result: len(result.tests) == 2)

    assert result.outcome == "timeout"
    assert [case.outcome for case in result.tests] == ["passed", "unfinished"]
    assert result.tests[1].message == "the run ended before this test did"
    assert not result.complete


BROKEN_FILES = {
    "syntax.py": ("x = 1\n\ndef broken(:\n    pass\n", "SyntaxError", 3),
    "indentation.py": ("x = 1\nif x:\ny = 2\n", "IndentationError", 3),
    "module.py": ("x = 1\nimport nope_nope\n", "ModuleNotFoundError", 2),
    "name.py": ("x = 1\n\n\nundefined_name\n", "NameError", 4),
}


def collected(open_sandbox, version, files, *options):
    """What is known about files that could not be collected, by the file that pytest names."""
    sandbox = open_sandbox(files, *requirements(version))
    command = TestCommand(as_module=True, options=("-p", "no:cacheprovider", *options))
    request = RunRequest(runner=runner_of(command), timeout=timedelta(seconds=HANG_SECONDS))
    facts = execute_tests(sandbox, request).facts
    assert facts.outcome is PytestOutcome.COLLECTION_ERROR
    return {fact.file: (fact.error, fact.path, fact.line) for fact in facts.collection_facts}


@pytest.mark.parametrize(
    "version",
    [
        version if version in IN_THE_GATE else pytest.param(version, marks=pytest.mark.soak)
        for version in PYTEST_VERSIONS
    ],
)
def test_a_file_that_cannot_be_collected_is_put_down_to_the_broken_line(open_sandbox, version):
    files = {f"code_{name}": text for name, (text, _, _) in BROKEN_FILES.items()}
    files |= {f"test_{name}": f"import code_{name[:-3]}\n" for name in BROKEN_FILES}
    known = {
        f"test_{name}": (error, f"code_{name}", line)
        for name, (_, error, line) in BROKEN_FILES.items()
    }
    assert collected(open_sandbox, version, files) == known
    assert collected(open_sandbox, version, files, "--tb=no", "-n", "1") == known

    files = {"conftest.py": "import code_syntax\n", "code_syntax.py": BROKEN_FILES["syntax.py"][0]}
    found = collected(open_sandbox, version, files)
    assert found == {"conftest.py": ("SyntaxError", "code_syntax.py", 3)}
