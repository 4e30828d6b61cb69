"""Django's own tests under its own runner: releases of several years, and a judged task."""

from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.integrity.records import ControlKind
from agentbench.scoring.evidence import PytestOutcome
from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import RUNNER_COMMANDS, Runner
from agentbench.taxonomy import FailureReason
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.python_runners import reporter_mounts
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.corpora.cheats.cheat import adds
from tests.e2e.bench import Bench
from tests.e2e.django_source import BOTH, FIXED_TEST, copy_source, write_django_task
from tests.fakes.local_sandbox import LocalSandbox
from tests.test_runs.interpreters import find_python, interpreter

USUAL = RUNNER_COMMANDS[Runner.DJANGO].usual
HTML = "tests/utils_tests/test_html.py"
# Each with the newest libraries that its Python can have.
RELEASES = [
    ("5.0.6", "3.11", ("asgiref", "sqlparse")),
    pytest.param("4.2.17", "3.9", ("asgiref==3.8.1", "sqlparse==0.5.1"), marks=pytest.mark.soak),
    pytest.param(
        "3.0.14", "3.6", ("asgiref==3.2.10", "sqlparse==0.4.4", "pytz"), marks=pytest.mark.soak
    ),
    pytest.param("2.2.28", "3.6", ("sqlparse==0.4.4", "pytz"), marks=pytest.mark.soak),
]
TARGETS = (
    HTML,
    "tests/test_runner",  # which runs suites in its tests
    "tests/queries/tests.py",  # with expected failures
    "tests/view_tests/templates",  # data, which has no label
)


@pytest.fixture
def run_django(tmp_path):
    """Run the tests of a release, after a change of its files."""

    def run(version, targets, *, python="3.11", libraries=("asgiref", "sqlparse"), **given):
        changes = given.get("changes", {})
        if find_python(python) is None:
            pytest.skip(f"no Python {python} on this machine")
        libraries = interpreter(*libraries, python=python)
        sandbox = LocalSandbox(tmp_path / "sandbox", libraries, reporter_mounts())
        workspace = Path(sandbox.workspace)
        workspace.rmdir()
        copy_source(version, workspace)
        for name, text in changes.items():
            with (workspace / name).open("a") as file:
                file.write(text)
        request = RunRequest(
            runner=runner_of(parse_test_command(given.get("command", USUAL))),
            targets=targets,
            timeout=timedelta(minutes=10),
            env={"PYTHONPATH": str(workspace), "LC_ALL": "C.UTF-8"},
        )
        return execute_tests(sandbox, request)

    return run


@pytest.mark.parametrize(("version", "python", "libraries"), RELEASES)
def test_every_release_is_understood(run_django, version, python, libraries):
    run = run_django(version, TARGETS, python=python, libraries=libraries)
    result = run.result
    assert result.outcome is PytestOutcome.PASSED, result.text_output[-2000:]
    assert run.facts.internals_changed == ()
    assert f"Ran {result.summary.total}" in result.text_output or result.summary.skipped
    assert result.summary.xfailed == 2
    assert result.summary.passed > 300
    tests = {test.node_id: test for test in result.tests}
    assert set(tests) == set(run.node_ids)
    assert tests[BOTH[0]].names == ("test_strip_tags (utils_tests.test_html.TestUtilsHtml)",)
    passed = [test for test in result.tests if test.outcome == "passed"]
    assert {test.phases for test in passed} == {(1, 1, 1)}
    printed = [test.names[1] for test in passed if len(test.names) == 2]
    # Old versions of unittest print no docstring that begins with an empty line.
    prints = [f"\n{line} ... ok" in result.text_output for line in printed]
    assert any(prints) if python == "3.6" else prints and all(prints)


ENDINGS = [
    (
        "code that does not compile",
        {"changes": {"django/utils/html.py": "\ndef broken(:\n"}},
        PytestOutcome.COLLECTION_ERROR,
        "SyntaxError",
        "django/utils/html.py",
    ),
    (
        "a failed system check",
        {
            "targets": ("tests/queries/tests.py",),
            "changes": {
                "tests/queries/models.py": "\nclass Odd(models.Model):\n"
                "    name = models.CharField(max_length=-1)\n"
            },
        },
        PytestOutcome.COLLECTION_ERROR,
        "SystemCheckError",
        "",
    ),
    (
        "settings that are missing",
        {"command": "python tests/runtests.py --settings=test_nothing --parallel 1"},
        PytestOutcome.COLLECTION_ERROR,
        "ModuleNotFoundError",
        "",
    ),
    (
        "a database that is missing",
        {
            "targets": ("tests/queries/tests.py",),
            "changes": {
                "tests/test_sqlite.py": "\nDATABASES['default']['TEST'] = {'NAME': '/no/where'}\n"
            },
        },
        PytestOutcome.COLLECTION_ERROR,
        "OperationalError",
        "",
    ),
    (
        "an option that does not exist",
        {"command": "python tests/runtests.py --no-such-option"},
        PytestOutcome.USAGE,
        "",
        "",
    ),
    (
        "a test module that cannot be imported",
        {"changes": {HTML: "\nimport nothing_like_it\n"}},
        PytestOutcome.COLLECTION_ERROR,
        "ModuleNotFoundError",
        "",
    ),
    (
        "a set-up that fails before the test starts",
        {
            "targets": ("tests/utils_tests/test_html.py",),
            "changes": {
                HTML: "\ndef broken(self): raise ValueError('broken')\n"
                "TestUtilsHtml._pre_setup = broken\n"
            },
        },
        PytestOutcome.FAILED,
        "",
        "",
    ),
]


@pytest.mark.parametrize(
    ("given", "outcome", "error", "path"),
    [row[1:] for row in ENDINGS],
    ids=[row[0] for row in ENDINGS],
)
def test_a_run_that_cannot_start_is_told_as_what_it_was(run_django, given, outcome, error, path):
    targets = given.pop("targets", (HTML,))
    run = run_django("5.0.6", targets, **given)
    assert run.result.outcome is outcome, run.result.text_output[-2000:]
    facts = run.facts.collection_facts
    assert [fact.error for fact in facts] == ([error] if error else [])
    if path:
        assert facts[0].path == path
    if outcome is PytestOutcome.FAILED:
        words = {test.outcome for test in run.result.tests}
        assert words == {"error"}
        assert "ValueError: broken" in run.result.tests[0].message


def test_a_task_of_two_releases_is_judged(walled_bench: Bench, tmp_path):
    task = write_django_task(tmp_path / "task")
    solved = walled_bench.attempt(task, "oracle")
    assert solved.resolved, solved.detail
    assert {test.node_id: test.listed for test in solved.tests} == {
        FIXED_TEST: "fail_to_pass",
        **dict.fromkeys(BOTH, "pass_to_pass"),
    }
    kinds = {test.node_id: test.control for test in solved.controls.tests}
    assert kinds.keys() == {FIXED_TEST}
    assert kinds[FIXED_TEST] is not ControlKind.WEAK
    nothing = walled_bench.attempt(task, "noop")
    assert nothing.failure_reason is FailureReason.TESTS_FAILED
    cheat = adds(
        "import unittest\n"
        "unittest.TestResult.addFailure = unittest.TestResult.addError = lambda *a: None",
        to="django/__init__.py",
    )
    settings = adds("import os\nos._exit(0)", to="tests/test_sqlite.py")
    record = walled_bench.command(task, cheat + settings)
    assert not record.resolved
    assert [one.path for one in record.patch.dropped] == ["tests/test_sqlite.py"]
