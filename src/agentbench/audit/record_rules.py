"""Rules about an attempt's record: whether it says what its evidence and its files say."""

import hashlib
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from agentbench.audit.attempt_facts import AttemptFacts
from agentbench.audit.rule import Seen
from agentbench.audit.run_folder import UnreadableError
from agentbench.pytest_results.model import PytestResult
from agentbench.runs.rescore import verdict_of
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportFacts, Severity, StageName
from agentbench.scoring.taxonomy import FailureReason
from agentbench.stages.verification.suspicious import RULE as SUSPICIOUS

_RECORD = "record.json"
_VERDICT = ("resolved", "quarantined", "failure_reason", "fault")
_DERIVED = ("detail", "failures", "tests", "counts")
_REPORTS = {StageName.BASELINE_RUN: "baseline.json", StageName.FINAL_TEST: "final.json"}
_NO_NETWORK = "no network for agent and tests"
WEIGHED_LACKS: Mapping[str, str] = {
    _NO_NETWORK: "the agent may have fetched the fix",
    "own file system view": "the agent may have read the task's folder, with tests and solution",
    "the whole process tree dies at the deadline": "what the agent started may have lived on",
    "no privileges, no capabilities, seccomp": "the agent may have left its sandbox",
}


def verdict_differs(facts: AttemptFacts) -> Iterator[Seen]:
    """A verdict that its own evidence does not give was edited, or judged by other rules."""
    record, verdict = facts.record, verdict_of(facts.record)
    if any(getattr(record, name) != getattr(verdict, name) for name in _VERDICT):
        was, now = (_verdict_word(one.failure_reason) for one in (record, verdict))
        what = f"says {was}, its evidence {now} (`agentbench rescore` shows what changed)"
        yield Seen(Severity.CRITICAL, _RECORD, what)
        return
    names = [name for name in _DERIVED if getattr(record, name) != getattr(verdict, name)]
    if names:
        what = f"{', '.join(names)}: not what its evidence gives today; the verdict holds"
        yield Seen(Severity.WARNING, _RECORD, what)


def findings_hidden(facts: AttemptFacts) -> Iterator[Seen]:
    """A record repeats what its stages found; one that leaves some out was edited."""
    record = facts.record
    found = tuple(one for stage in record.stages for one in stage.evidence.findings)
    if found != record.findings:
        what = f"lists {len(record.findings)} findings, its stages {len(found)}, not the same ones"
        yield Seen(Severity.CRITICAL, _RECORD, what)


def resolved_in_spite(facts: AttemptFacts) -> Iterator[Seen]:
    """One critical finding quarantines an attempt; it can't count as resolved."""
    record = facts.record
    if not record.resolved:
        return
    of_stages = (one for stage in record.stages for one in stage.evidence.findings)
    for one in dict.fromkeys((*record.findings, *of_stages)):
        if one.severity is Severity.CRITICAL:
            what = f"resolved in spite of {one.rule}: {one.what}"
            yield Seen(Severity.CRITICAL, one.where, what)


def files_disagree(facts: AttemptFacts) -> Iterator[Seen]:
    """Patch and reports are what a verdict rests on; changed ones support it no longer."""
    yield from _patch_differs(facts)
    for stage in facts.record.stages:
        name = _REPORTS.get(stage.name)
        if name is not None and stage.evidence.report is not None:
            why = _report_differs(facts, name, stage.evidence.report)
            if why is not None:
                yield Seen(Severity.CRITICAL, name, why)
        if stage.log is not None:
            try:
                facts.read(stage.log)
            except UnreadableError as error:
                yield Seen(Severity.WARNING, stage.log, str(error))


def sandbox_lacks(facts: AttemptFacts) -> Iterator[Seen]:
    """What a sandbox did not promise, an agent may have made use of."""
    environment = facts.record.environment
    for lack in environment.lacks:
        severity = Severity.WARNING if lack in WEIGHED_LACKS else Severity.INFO
        what = f"did not promise: {lack}" + (
            f"; {WEIGHED_LACKS[lack]}" if lack in WEIGHED_LACKS else ""
        )
        yield Seen(severity, f"sandbox {environment.sandbox}", what)


def task_changed(facts: AttemptFacts) -> Iterator[Seen]:
    """Held against a task that changed since, the other rules speak of another task."""
    task = facts.task
    if task is not None and task.task.digest != facts.record.task_digest:
        what = "is not what it was when the attempt was made: its digest differs"
        yield Seen(Severity.WARNING, "the task", what)


def already_recorded(facts: AttemptFacts) -> Iterator[Seen]:
    """What the harness itself found and left out belongs into the same picture."""
    record = facts.record
    for dropped in record.patch.dropped if record.patch else ():
        yield Seen(Severity.INFO, dropped.path, f"not judged: {dropped.why}")
    for one in record.findings:
        if one.rule == SUSPICIOUS:
            continue  # the patch is scanned again, by a rule of its own
        what = f"on the record ({one.severity.value}): {one.rule}: {one.what}"
        yield Seen(Severity.INFO, one.where, what)


def _verdict_word(reason: FailureReason | None) -> str:
    return reason.value if reason is not None else "resolved"


def _patch_differs(facts: AttemptFacts) -> Iterator[Seen]:
    patch = facts.record.patch
    if patch is None:
        return
    try:
        content = facts.read(patch.path)
    except UnreadableError as error:
        yield Seen(Severity.CRITICAL, patch.path, str(error))
        return
    if hashlib.sha256(content).hexdigest() != patch.sha256:
        yield Seen(
            Severity.CRITICAL, patch.path, "is not the patch that was judged: its sha256 differs"
        )


def _report_differs(facts: AttemptFacts, name: str, report: ReportFacts) -> str | None:
    try:
        result = PytestResult.model_validate_json(facts.read(name))
    except UnreadableError as error:
        return str(error)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return f"cannot be read: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    if (result.outcome, result.complete) != (report.outcome, report.complete):
        return f"says {result.outcome}, the record {report.outcome}"
    kept: dict[NodeId, list[CaseOutcome]] = {}
    for test in result.tests:
        kept.setdefault(test.node_id, []).append(test.outcome)
    for case in report.cases:
        if case.outcome not in kept.get(case.node_id, ()):
            said = ", ".join(kept.get(case.node_id, ())) or "nothing"
            return f"says {said} of {case.node_id}, the record {case.outcome}"
    return None
