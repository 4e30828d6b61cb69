"""Rules about blind controls: whether a resolved attempt withstood tests that expect otherwise."""

from collections.abc import Iterator

from pydantic import ValidationError

from agentbench.audit.attempt_facts import AttemptFacts
from agentbench.audit.rule import Seen
from agentbench.audit.run_folder import UnreadableError
from agentbench.pytest_results.model import PytestResult
from agentbench.scoring.evidence import CaseOutcome, NodeId, Severity
from agentbench.stages.verification.controls import ControlRun, Controls, control_findings

_FINAL_TEST = "final_test"
_RECORD = "record.json"


def no_controls(facts: AttemptFacts) -> Iterator[Seen]:
    """Without blind controls a report that was forged in the tested process goes unnoticed."""
    record = facts.record
    if not record.resolved:
        return
    controls = record.controls
    if controls is None or not controls.runs:
        why = (controls.skipped if controls else None) or "none are on the record"
        what = f"resolved without blind controls: {why}; a forged report would go unnoticed"
        yield Seen(Severity.WARNING, _FINAL_TEST, what)
        return
    listed = set(record.expected.fail_to_pass)
    spared = sorted(listed - _had_to_fail(controls))
    if spared:
        what = f"{len(spared)} of {len(listed)} fail_to_pass tests had to fail in no blind run"
        told = f"{what} (controls: {controls.level.value}), first {spared[0]}"
        yield Seen(Severity.INFO, _FINAL_TEST, told)


def weak_controls(facts: AttemptFacts) -> Iterator[Seen]:
    """A weakly controlled test shows a forged report, and not code that lies with values."""
    controls = facts.record.controls
    if facts.record.resolved and controls is not None:
        for weak in controls.weakly_controlled:
            where = f"{weak.file}::{weak.function}"
            yield Seen(Severity.INFO, where, f"was weakly controlled: {weak.reason}")


def controls_disagree(facts: AttemptFacts) -> Iterator[Seen]:
    """Blind runs that speak against an attempt, or that are gone, must not be passed over."""
    controls = facts.record.controls
    if controls is None:
        return
    against = control_findings(controls)
    found = any(one.severity is Severity.CRITICAL for one in facts.record.findings)
    if against and not found:
        what = f"lists no finding, and its blind runs do: {against[0].what}"
        yield Seen(Severity.CRITICAL, _RECORD, what)
    for run in controls.runs:
        name = f"control-{run.half}.json"
        why = _report_differs(facts, name, run)
        if why is not None:
            yield Seen(Severity.CRITICAL, name, why)


def _had_to_fail(controls: Controls) -> set[NodeId]:
    """The tests that had to fail in some blind run, and for which that says something."""
    return {
        test.node_id
        for run in controls.runs
        for test in run.tests
        if test.must == "fail" and test.node_id not in run.dismissed
    }


def _report_differs(facts: AttemptFacts, name: str, run: ControlRun) -> str | None:
    """What a blind run's own report says against the record; its ids in brackets are made up."""
    try:
        result = PytestResult.model_validate_json(facts.read(name))
    except UnreadableError as error:
        return str(error)
    except ValidationError:
        return "is no report of pytest, or one that was damaged"
    kept: dict[NodeId, set[CaseOutcome]] = {}
    for case in result.tests:
        kept.setdefault(case.node_id, set()).add(case.outcome)
    for test in run.tests:
        said = kept.get(test.node_id, set())
        plain = "[" not in test.node_id and test.outcome is not None
        if plain and test.outcome not in said:
            shown = ", ".join(sorted(said)) or "nothing"
            return f"says {shown} of {test.node_id}, the record {test.outcome}"
    return None
