"""What JUnit and the logs of a real run say about its failed attempts."""

from xml.etree import ElementTree

import pytest

from agentbench.report.formats import JUnitSuite, junit_lines
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.options import RunOptions
from agentbench.validation.task_proof import run_to_end
from tests.e2e.small_task import FIX, PARTIAL_FIX
from tests.fakes.staging import local_provider, small_task
from tests.validation.test_task_validation import follow

pytestmark = pytest.mark.full

TEST = "tests/test_hidden.py::test_every_price_counts"


@pytest.fixture
def failed(tmp_path):
    """Run a command at a task; returns the text of JUnit, and the log of the final test."""

    def failed(command, **changes):
        options = RunOptions(
            agent="command",
            agent_command=command,
            sandbox=local_provider(),
            runs_dir=tmp_path / "runs",
            cache_dir=tmp_path / "cache",
        )
        made = run_to_end([small_task(tmp_path / "small", **changes)], options, follow)
        run = ReportedRun.read(made.store.folder)
        suite = JUnitSuite(
            label="x",
            attempts=run.attempts,
            folder=str(run.folder),
            cause_of=run.cause_finder(),
        )
        xml = ElementTree.fromstring("".join(junit_lines([suite])))
        (failure,) = xml.iter("failure")
        log = made.store.folder_of(made.records[0]) / "stages" / "final_test.log"
        assert made.records[0].controls is not None
        return failure.text, log.read_text(), made.records[0], str(run.folder)

    return failed


def test_values_that_differ_in_the_sealed_run_are_in_junit_and_in_the_log(failed):
    text, log, record, folder = failed(PARTIAL_FIX)
    assert record.controls.sealed.mismatches
    for line in (TEST, "assert basket.total([1, 2, 3]) == 6", "expected   6", "actual     5"):
        assert line in text
    assert f"{folder}/attempts/small/1" in text
    assert log.splitlines()[0].endswith(
        "No final test was run: the code gave wrong values in the sealed run before it."
    )
    assert f"{TEST} failed: line 5: expected 6, found 5 in `assert basket.total" in log
    assert "test session starts" in log


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        (
            f"{FIX}; sed -i s/min/max/ basket.py",
            ["test_the_cheapest_is_found", "expected   1", "actual     3"],
        ),
        (
            "echo 'raise ValueError(7)' > basket.py",
            ["cannot be collected", "ValueError in basket.py:1: 7"],
        ),
        ("echo 'import os; os._exit(0)' > basket.py", ["ended pytest before its report"]),
    ],
)
def test_other_failures_are_in_junit_too(failed, command, lines):
    text, log, _, folder = failed(command)
    assert [line for line in lines if line not in text] == []
    assert f"files: {folder}/attempts/small/1" in text
    assert log
