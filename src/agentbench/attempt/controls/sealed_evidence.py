"""The evidence of an attempt whose sealed run differs: its final test is not run.

Code that gave a wrong value must not see the right one: it could leave a mark for a later attempt
at the same task. So the evidence is the sealed run's own report, with the findings of the host.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from dataclasses import replace as replace_case

from agentbench.integrity.records import SealedMismatch
from agentbench.integrity.sealing.plan import JudgedSeal
from agentbench.scoring.evidence import CaseOutcome, NodeId, PytestOutcome
from agentbench.test_runs.model import CaseResult, PytestSummary
from agentbench.test_runs.runner import TestRun

_FAILED = 1  # pytest's exit code
_RECORDING = re.compile(r"\(?__import__\('agentbench_recorder'\)\.\w+\((\d+).*")
_NOT_JUDGED = "not judged: other tests gave wrong values without their expected ones"


def sealed_report(
    run: TestRun,
    renamed: Mapping[NodeId, NodeId],
    judged: JudgedSeal,
    *,
    fixed: Collection[NodeId],
) -> TestRun:
    """The sealed run as a run of the hidden tests, in which tests with wrong values have failed.

    Args:
        run: The sealed run.
        renamed: The ids that tests have in it, by their own ids.
        judged: The findings of the host.
        fixed: The tests that the task requires to be fixed.
    """
    original = {new: old for old, new in renamed.items()}
    mismatches: dict[NodeId, SealedMismatch] = {}
    for one in judged.mismatches:
        mismatches.setdefault(one.node_id, one)
    doubtful = frozenset(fixed) - judged.sealed
    own_ids = (
        replace_case(c, node_id=original.get(c.node_id, c.node_id)) for c in run.result.tests
    )
    cases = tuple(_case(case, mismatches.get(case.node_id), doubtful) for case in own_ids)
    count = Counter(case.outcome for case in cases)
    summary: PytestSummary = run.result.summary.replace(
        passed=count[CaseOutcome.PASSED],
        failed=count[CaseOutcome.FAILED],
        unfinished=count[CaseOutcome.UNFINISHED],
    )
    changed: dict[str, object] = {"tests": cases, "summary": summary, "json_report": {}}
    command = run.command
    if run.result.outcome is PytestOutcome.PASSED:  # the tests could not see that they fail
        changed |= {"outcome": PytestOutcome.FAILED, "exit_code": _FAILED}
        command = command.replace(exit_code=_FAILED)
    return replace(run, result=run.result.replace(**changed), command=command)


def _case(
    case: CaseResult, mismatch: SealedMismatch | None, doubtful: Collection[NodeId]
) -> CaseResult:
    if case.outcome is not CaseOutcome.PASSED:
        if case.traceback is None:
            return case
        # A short word for each recording.
        traceback = _RECORDING.sub(r"<assertion \1 of the sealed test>", case.traceback)
        return replace_case(case, traceback=traceback)
    if mismatch is not None:
        where = "" if mismatch.line is None else f"line {mismatch.line}: "
        assertion = f" in `{mismatch.assertion}`" if mismatch.assertion else ""
        message = f"{where}expected {mismatch.expected}, found {mismatch.actual}{assertion}"
        return replace_case(case, outcome=CaseOutcome.FAILED, message=message)
    if case.node_id in doubtful:
        return replace_case(case, outcome=CaseOutcome.UNFINISHED, message=_NOT_JUDGED)
    return case
