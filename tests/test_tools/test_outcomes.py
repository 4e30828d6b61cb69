import signal
from datetime import timedelta

import pytest

from agentbench.scoring.evidence import (
    CommandResult,
    Ending,
    PytestOutcome,
    ReportSource,
    ReportTrust,
)
from agentbench.test_runs.model import PytestResult, PytestSummary
from agentbench.test_runs.runner import TestRun
from agentbench.test_tools.envelope import ERROR_OF_OUTCOME, message_of, signal_name


def message(outcome, *, detail=None, spawn_error=None, summary=None, **command):
    result = PytestResult(
        exit_code=command.get("exit_code"),
        summary=summary or PytestSummary(),
        outcome=outcome,
        source=ReportSource.STREAM,
        detail=detail,
        spawn_error=spawn_error,
    )
    ended = CommandResult(
        **{"argv": (), "ending": Ending.EXITED, "duration": timedelta(), **command}
    )
    run = TestRun(command=ended, result=result, trust=ReportTrust.IN_PROCESS_STREAM)
    return message_of(run, 2.0)


@pytest.mark.parametrize(
    ("outcome", "known", "words"),
    [
        ("timeout", {}, "pytest execution exceeded timeout of 2 seconds"),
        ("crash", {"signal": 11}, "pytest subprocess terminated with signal SIGSEGV"),
        ("crash", {"exit_code": 66}, "pytest subprocess terminated with exit code 66"),
        ("crash", {"signal": 63}, "pytest subprocess terminated with signal signal 63"),
        (
            "crash",
            {"ending": Ending.OUT_OF_MEMORY},
            "pytest subprocess terminated with signal SIGKILL (out of memory)",
        ),
        (
            "crash",
            {"ending": Ending.OUT_OF_DISK},
            "pytest subprocess terminated with signal SIGKILL (out of disk)",
        ),
        ("spawn", {"spawn_error": "x"}, "Failed to spawn pytest subprocess: x"),
        ("spawn", {}, "Failed to spawn pytest subprocess: the sandbox was lost"),
        (
            "usage",
            {"stderr": "noise\nERROR: not found: a\n(no match)\n"},
            "pytest execution failed: Invalid pytest arguments: not found: a",
        ),
        ("usage", {}, "pytest execution failed: Invalid pytest arguments"),
        (
            "interrupted",
            {"detail": "KeyboardInterrupt"},
            "pytest execution failed: Test execution was interrupted: KeyboardInterrupt",
        ),
        (
            "pytest_internal",
            {"detail": "Traceback\n  line\nValueError: x\n\n"},
            "pytest execution failed: pytest internal error occurred: ValueError: x",
        ),
        (
            "unverified",
            {"exit_code": 0},
            "pytest execution failed: it exited 0, but no report confirms that",
        ),
        (
            "failed",
            {"summary": PytestSummary(passed=3, failed=1, deselected=2, duration=1.5)},
            "1 failed, 3 passed, 2 deselected in 1.50 s",
        ),
        ("no_tests", {}, "no tests in 0.00 s"),
    ],
)
def test_an_outcome_is_told_in_the_words_of_the_table(outcome, known, words):
    assert message(PytestOutcome(outcome), **known) == words


def test_failing_tests_broken_files_and_no_tests_are_no_errors():
    fine = {
        PytestOutcome.PASSED,
        PytestOutcome.FAILED,
        PytestOutcome.NO_TESTS,
        PytestOutcome.COLLECTION_ERROR,
    }
    assert set(PytestOutcome) - set(ERROR_OF_OUTCOME) == fine


def test_a_command_that_exited_was_ended_by_no_signal():
    ended = CommandResult(argv=(), ending=Ending.EXITED, exit_code=1, duration=timedelta())
    assert signal_name(ended) is None
    killed = ended.model_copy(update={"signal": int(signal.SIGKILL)})
    assert signal_name(killed) == "SIGKILL"
