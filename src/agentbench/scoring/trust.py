"""What a report of tests may decide, by the trust that its origin deserves.

Code under test runs beside every report. agentbench's own reporter sees each phase of a test in the
runner's process, and its stream shows if it was cut or replaced. A file that a program wrote may
have been written by anything, so it counts only where everything else agrees with it.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import assert_never

from agentbench.scoring.evidence import (
    FAILING_OUTCOMES,
    CaseFact,
    CaseOutcome,
    CommandResult,
    Ending,
    ReportFacts,
    ReportSource,
    ReportTrust,
)

_EACH_PHASE_ONCE = (1, 1, 1)  # set-up, call and teardown


class Lack(StrEnum):
    """Why an expected test does not count."""

    MISSING = "not run"
    NOT_PASSED = "not passed"
    BROKEN_PHASES = "without exactly one set-up, call and teardown"
    AGAIN = "reported more than once"


def distrust_of(report: ReportFacts, command: CommandResult | None) -> str | None:
    """Why a whole report is no evidence that tests passed; None if it is.

    With a stream, the exit code does not matter: a project's own hooks and plugins may set it. A
    program that writes a file has to agree with it.
    """
    match report.trust:
        case ReportTrust.IN_PROCESS_STREAM:
            if report.source is ReportSource.STREAM:
                return None
            # A test that deletes the stream leaves a JSON report, which it may have forged.
            return f"the streaming reporter's record is gone, and {report.source} is no evidence"
        case ReportTrust.EXTERNAL_REPORT:
            if report.source in {ReportSource.TEXT, ReportSource.EXIT_CODE}:
                return f"the report is gone, and {report.source} is no evidence"
            if command is None or command.ending is not Ending.EXITED:
                return "the runner did not end by itself"
            if (command.exit_code == 0) == (report.failed == 0):
                return None
            failed = f"{report.failed} failed tests"
            return f"the report has {failed}, and the runner's exit code is {command.exit_code}"
    assert_never(report.trust)


def lack_of_fixed(cases: Sequence[CaseFact], trust: ReportTrust) -> Lack | None:
    """Why a test to fix does not count, by its reports in the final run; None if it counts."""
    if not cases:
        return Lack.MISSING
    if any(case.outcome is not CaseOutcome.PASSED for case in cases):
        return Lack.NOT_PASSED
    match trust:
        case ReportTrust.IN_PROCESS_STREAM:
            whole = len(cases) == 1 and cases[0].phases == _EACH_PHASE_ONCE
            return None if whole else Lack.BROKEN_PHASES
        case ReportTrust.EXTERNAL_REPORT:
            return None if len(cases) == 1 else Lack.AGAIN
    assert_never(trust)


def lack_of_regression_test(cases: Sequence[CaseFact], trust: ReportTrust) -> Lack | None:
    """Why a test that has to stay passing does not count; None if it counts."""
    if not cases:
        return Lack.MISSING
    if any(case.outcome in FAILING_OUTCOMES for case in cases):
        return Lack.NOT_PASSED
    if trust is ReportTrust.EXTERNAL_REPORT:
        return None
    # A test that pytest.exit ended early is reported as passed, although it was never called.
    cut_off = any(case.outcome is CaseOutcome.PASSED and 0 in case.phases for case in cases)
    return Lack.NOT_PASSED if cut_off else None
