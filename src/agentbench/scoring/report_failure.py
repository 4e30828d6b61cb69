"""What the report of a final test that ran to its end says against the attempt."""

from agentbench.scoring.evidence import CommandResult, PytestOutcome, ReportFacts, StageName
from agentbench.scoring.failure import Failure
from agentbench.scoring.taxonomy import FailureReason, Fault

_REASONS = {
    PytestOutcome.FAILED: FailureReason.TESTS_FAILED,
    PytestOutcome.NO_TESTS: FailureReason.NO_TESTS_COLLECTED,
    PytestOutcome.COLLECTION_ERROR: FailureReason.INTERNAL_ERROR,
    PytestOutcome.INTERRUPTED: FailureReason.INTERRUPTED,
    PytestOutcome.PYTEST_INTERNAL: FailureReason.INTERNAL_ERROR,
    PytestOutcome.USAGE: FailureReason.INTERNAL_ERROR,
    PytestOutcome.SPAWN: FailureReason.INTERNAL_ERROR,
    PytestOutcome.TIMEOUT: FailureReason.TIMEOUT,
}
_CUT_SHORT = frozenset({PytestOutcome.TIMEOUT, PytestOutcome.CRASH})
_CONTENT = frozenset({PytestOutcome.PASSED, PytestOutcome.UNVERIFIED})


def report_failure(command: CommandResult, report: ReportFacts) -> Failure | None:
    """The failure that a final test's report shows; `None` when pytest was content.

    Code under test runs in the same process, so whatever went wrong there is the agent's.
    """
    outcome = _outcome(command, report)
    if outcome is PytestOutcome.PASSED:
        return None
    return Failure(
        stage=StageName.FINAL_TEST,
        reason=_reason(outcome, command, report),
        fault=Fault.AGENT,
        detail=_detail(outcome, command, report),
    )


def uncollected(report: ReportFacts) -> str:
    """Why tests could not be collected: the first error, and the line that it comes from."""
    more = len(report.collection_errors) - 1
    others = f" (and {more} more)" if more > 0 else ""
    if not report.collection_facts:
        file = next(iter(report.collection_errors), "an unnamed file")
        return f"Tests could not be collected: an error in {file}{others}"
    fact = report.collection_facts[0]
    line = f", line {fact.line}" if fact.line is not None else ""
    message = f": {fact.message}" if fact.message else ""
    where = f"{fact.path or fact.file}{line}"
    return f"Tests could not be collected: {fact.error or 'an error'} in {where}{message}{others}"


def last_line(command: CommandResult) -> str:
    """The last thing a command said, in brackets; empty when it said nothing."""
    for text in (command.stderr, command.stdout):
        lines = text.strip().splitlines()
        if lines:
            return f" ({lines[-1].strip()[:200]})"
    return ""


def _outcome(command: CommandResult, report: ReportFacts) -> PytestOutcome:
    """The report's outcome, unless the rest of the report contradicts it."""
    claimed = report.outcome
    if report.collection_errors and claimed not in _CUT_SHORT:
        return PytestOutcome.COLLECTION_ERROR
    seen = report.collected or report.passed or report.failed or report.cases
    if claimed in _CONTENT and report.complete and not seen:
        return PytestOutcome.NO_TESTS
    if claimed is PytestOutcome.PASSED and not (report.complete and command.exit_code == 0):
        return PytestOutcome.UNVERIFIED
    return claimed


def _reason(outcome: PytestOutcome, command: CommandResult, report: ReportFacts) -> FailureReason:
    if outcome is PytestOutcome.CRASH:
        mapped = FailureReason.from_stage(StageName.FINAL_TEST, command.exit_code or 0)
        return FailureReason.UNKNOWN if mapped is None else mapped
    if outcome is PytestOutcome.UNVERIFIED:
        failed = report.complete and report.failed > 0
        return FailureReason.TESTS_FAILED if failed else FailureReason.INTERNAL_ERROR
    return _REASONS[outcome]


def _detail(outcome: PytestOutcome, command: CommandResult, report: ReportFacts) -> str:
    code = command.exit_code
    said = {
        PytestOutcome.FAILED: f"{report.failed} of {report.collected} tests failed",
        PytestOutcome.NO_TESTS: "pytest collected no tests",
        PytestOutcome.COLLECTION_ERROR: uncollected(report),
        PytestOutcome.INTERRUPTED: "the test session was interrupted from within",
        PytestOutcome.UNVERIFIED: f"exit code {code} without a whole report behind it",
    }
    if outcome is PytestOutcome.UNVERIFIED and report.complete:
        return f"exit code {code} contradicts the report: {report.failed} failed"
    if outcome is PytestOutcome.CRASH and code == 128 + 9:
        return "killed by SIGKILL, cause unknown"
    what = outcome.value.replace("_", " ")
    return said.get(outcome, f"{what}: exit code {code}{last_line(command)}")
