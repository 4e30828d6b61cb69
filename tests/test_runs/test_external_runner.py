import pytest

from agentbench.scoring.evidence import CaseOutcome, Ending, NodeId, PytestOutcome, ReportSource
from agentbench.test_runs.external_runner import ExternalReport, decide_outcome
from agentbench.test_runs.model import CaseResult
from agentbench.test_runs.parse import PytestExit


def report_with(*outcomes, **fields):
    cases = [
        CaseResult(node_id=NodeId(f"a::{n}"), outcome=outcome, duration=0.0)
        for n, outcome in enumerate(outcomes)
    ]
    given = {"source": ReportSource.JSON_REPORT, "started": True, "finished": True, **fields}
    return ExternalReport(cases=cases, **given)


PASSED, FAILED = CaseOutcome.PASSED, CaseOutcome.FAILED


@pytest.mark.parametrize(
    ("code", "report", "outcome"),
    [
        (0, report_with(PASSED), "passed"),
        (1, report_with(PASSED, FAILED), "failed"),
        (0, report_with(PASSED, FAILED), "unverified"),
        (1, report_with(PASSED), "unverified"),
        (0, report_with(CaseOutcome.SKIPPED), "passed"),
        (0, report_with(), "no_tests"),
        (0, report_with(PASSED, finished=False), "unverified"),
        (1, report_with(PASSED, finished=False), "crash"),
        (139, report_with(FAILED), "crash"),
        (1, report_with(started=False), "usage"),
        (0, report_with(started=False), "unverified"),
        (127, report_with(started=False), "spawn"),
        (0, report_with(PASSED, source=ReportSource.EXIT_CODE), "unverified"),
        (1, report_with(source=ReportSource.EXIT_CODE), "unverified"),
    ],
)
def test_exit_code_and_report_have_to_agree(code, report, outcome):
    assert decide_outcome(PytestExit(ending=Ending.EXITED, exit_code=code), report) == outcome


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (Ending.LOST, PytestOutcome.SPAWN),
        (Ending.TIMED_OUT, PytestOutcome.TIMEOUT),
        (Ending.OUT_OF_MEMORY, PytestOutcome.CRASH),
        (Ending.KILLED, PytestOutcome.CRASH),
    ],
)
def test_a_run_that_was_ended_is_told_by_its_end(ending, outcome):
    ended = PytestExit(ending=ending, exit_code=None)
    assert decide_outcome(ended, report_with(PASSED)) is outcome


def test_a_file_that_cannot_be_loaded_is_named_once():
    report = report_with(PASSED)
    for line in (3, 9):
        report.add_error("a.go", line, "undefined: x")
    assert [(each.file, each.fact.line) for each in report.errors] == [("a.go", 3)]
    assert decide_outcome(PytestExit(ending=Ending.EXITED, exit_code=1), report) == (
        PytestOutcome.COLLECTION_ERROR
    )
