"""The evidence of an attempt whose sealed run differs: its final test is not run.

Code that gave a wrong value must not see the right one: it could leave a mark for a later attempt
at the same task. So the evidence is the sealed run's own report, with the findings of the host.
"""

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from agentbench.integrity.records import SealedMismatch
from agentbench.integrity.sealing.plan import JudgedSeal, SealedPlan
from agentbench.scoring.evidence import CaseOutcome, CommandResult, NodeId, PytestOutcome
from agentbench.test_runs.model import CaseResult, PytestResult, PytestSummary
from agentbench.test_runs.runner import TestRun

_FAILED = 1  # pytest's exit code
_RECORDING = re.compile(r"\(?__import__\('agentbench_recorder'\)\.\w+\((\d+).*")
_NOT_JUDGED = "not judged: other tests gave wrong values without their expected ones"


def sealed_report(
    run: TestRun, plan: SealedPlan, judged: JudgedSeal, *, fixed: Collection[NodeId]
) -> TestRun:
    """The sealed run as a run of the hidden tests, in which tests with wrong values have failed.

    Args:
        run: The sealed run.
        plan: Its files, and the tests' own ids.
        judged: The findings of the host.
        fixed: The tests that the task requires to be fixed.
    """
    original = {new: old for old, new in plan.renamed.items()}
    mismatches: dict[NodeId, SealedMismatch] = {}
    for one in judged.mismatches:
        mismatches.setdefault(one.node_id, one)
    doubtful = frozenset(fixed) - judged.sealed
    cases = tuple(
        _case(
            dataclasses.replace(case, node_id=original.get(case.node_id, case.node_id)),
            mismatches,
            doubtful,
        )
        for case in run.result.tests
    )
    return replace(run, result=_result(run.result, cases), command=_command(run))


def _case(
    case: CaseResult, mismatches: Mapping[NodeId, SealedMismatch], doubtful: Collection[NodeId]
) -> CaseResult:
    mismatch = mismatches.get(case.node_id)
    if case.outcome is not CaseOutcome.PASSED:
        traceback = None if case.traceback is None else _readable(case.traceback)
        return dataclasses.replace(case, traceback=traceback)
    if mismatch is not None:
        return dataclasses.replace(case, outcome=CaseOutcome.FAILED, message=_message(mismatch))
    if case.node_id in doubtful:
        return dataclasses.replace(case, outcome=CaseOutcome.UNFINISHED, message=_NOT_JUDGED)
    return case


def _message(mismatch: SealedMismatch) -> str:
    where = "" if mismatch.line is None else f"line {mismatch.line}: "
    assertion = f" in `{mismatch.assertion}`" if mismatch.assertion else ""
    return f"{where}expected {mismatch.expected}, found {mismatch.actual}{assertion}"


def _readable(traceback: str) -> str:
    """A traceback with a short word for each recording."""
    return _RECORDING.sub(r"<assertion \1 of the sealed test>", traceback)


def _result(result: PytestResult, cases: Iterable[CaseResult]) -> PytestResult:
    tests = tuple(cases)
    failed = sum(case.outcome is CaseOutcome.FAILED for case in tests)
    passed = sum(case.outcome is CaseOutcome.PASSED for case in tests)
    unfinished = sum(case.outcome is CaseOutcome.UNFINISHED for case in tests)
    counts = {"passed": passed, "failed": failed, "unfinished": unfinished}
    summary: PytestSummary = result.summary.model_copy(update=counts)
    changed: dict[str, object] = {"tests": tests, "summary": summary, "json_report": {}}
    if result.outcome is PytestOutcome.PASSED:
        changed |= {"outcome": PytestOutcome.FAILED, "exit_code": _FAILED}
    return result.model_copy(update=changed)


def _command(run: TestRun) -> CommandResult:
    command = run.command
    if run.result.outcome is not PytestOutcome.PASSED:
        return command
    return command.model_copy(update={"exit_code": _FAILED})
