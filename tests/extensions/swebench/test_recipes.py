"""The commands of shipped recipes that make TAP of a tool's own output; a script stands for it."""

import os
import shlex
import subprocess
from datetime import timedelta

import pytest

from agentbench.extensions.swebench.environments import EnvironmentSources, environment_of
from agentbench.extensions.swebench.instance import parse_instance
from agentbench.extensions.swebench.recipes import shipped_recipes
from agentbench.scoring.evidence import CaseOutcome, Ending, PytestOutcome
from agentbench.tasks.dataset_rows import DatasetRow
from agentbench.tasks.test_command import parse_test_command
from agentbench.test_runs.external_runner import decide_outcome
from agentbench.test_runs.parse import PytestExit
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.extensions.swebench.test_instance import WHOLE

TEST_UNIT = """\
Loaded suite test/plugin/test_a
Started
RetryTest:
  test: adds #2 to a queue:\t\t.: (0.001)
  test_fails:\t\t\t\tF
===============================================================================
Failure: test_fails(RetryTest): <1> expected but was <2>
===============================================================================
: (0.012)
  backoff:
    test: has a step:\t\t\t.: (0.000)
  test_pends:\t\t\t\tP
===============================================================================
: (0.002)
  test_raises:\t\t\t\tE

5 tests, 4 assertions, 1 failures, 1 errors, 1 pendings, 0 omissions, 0 notifications
"""
TESTDOX = """\
PHPUnit 9.6.7 by Sebastian Bergmann and contributors.

Is (Tests\\CarbonImmutable\\Is)
 ✔ Is weekday with data set #0 [0.50 ms]
 ✘ Is noon
   │
   │ Failed asserting that true is false.
 ↩ Is leap

Summary of non-successful tests:

Is (Tests\\CarbonImmutable\\Is)
 ✘ Is noon
   │
   │ Failed asserting that true is false.
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command of a recipe on some files; gives the report and the outcome."""

    def run(repo, tool, prints, code, *files):
        program = tmp_path / "bin" / tool
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{prints}END\nexit {code}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        row = parse_instance(DatasetRow(where="in.jsonl:1", value={**WHOLE, "repo": repo}))
        found = environment_of(row, EnvironmentSources(shipped=[shipped_recipes()]))
        tests = found.for_tests(files).tests()
        done = subprocess.run(
            shlex.split(tests.command), cwd=tmp_path, capture_output=True, text=True, check=False
        )
        runner = runner_of(parse_test_command(tests.command, tests.runner))
        request = RunRequest(runner=runner, timeout=timedelta(minutes=1))
        sources = "".join(f"./{file}\n" for file in files)
        report = runner.report({"output": done.stdout, "sources": sources}, request)
        ended = PytestExit(ending=Ending.EXITED, exit_code=done.returncode, collect_only=False)
        return report, decide_outcome(ended, report)

    return run


def test_fluentd_s_recipe_reads_each_test_of_test_unit_with_its_outcome(run):
    files = ("test/plugin/test_a.rb",)
    report, outcome = run("fluent/fluentd", "ruby", TEST_UNIT, 1, *files)
    assert outcome is PytestOutcome.FAILED
    assert {case.node_id: case.outcome for case in report.cases} == {
        "test/plugin/test_a.rb::adds #2 to a queue": CaseOutcome.PASSED,
        "test/plugin/test_a.rb::test_fails": CaseOutcome.FAILED,
        "test/plugin/test_a.rb::has a step": CaseOutcome.PASSED,
        "test/plugin/test_a.rb::test_pends": CaseOutcome.SKIPPED,
        "test/plugin/test_a.rb::test_raises": CaseOutcome.FAILED,
    }
    assert len(report.cases) == 5


@pytest.mark.parametrize(
    ("repo", "file"),
    [
        ("briannesbitt/carbon", "tests/CarbonImmutable/IsTest.php"),
        ("phpoffice/phpspreadsheet", "tests/PhpSpreadsheetTests/IsTest.php"),
    ],
)
def test_a_recipe_for_phpunit_reads_each_test_once_with_its_outcome(run, repo, file):
    report, outcome = run(repo, "phpunit", TESTDOX, 1, file)
    assert outcome is PytestOutcome.FAILED
    assert [(case.node_id, case.outcome) for case in report.cases] == [
        (f"{file}::Is > Is weekday with data set #0", CaseOutcome.PASSED),
        (f"{file}::Is > Is noon", CaseOutcome.FAILED),
        (f"{file}::Is > Is leap", CaseOutcome.SKIPPED),
    ]
    assert "Is > Is noon" in report.cases[1].names


def test_a_tool_that_ends_badly_after_passing_tests_is_no_success(run):
    prints = "Is (Tests\\Is)\n ✔ Is noon\n"
    report, outcome = run("briannesbitt/carbon", "phpunit", prints, 255, "tests/IsTest.php")
    assert len(report.cases) == 1
    assert outcome is not PytestOutcome.PASSED


def test_a_tool_that_prints_no_test_leaves_no_result(run):
    report, outcome = run("fluent/fluentd", "ruby", "LoadError\n", 1, "test/test_a.rb")
    assert report.cases == []
    assert outcome is not PytestOutcome.PASSED
