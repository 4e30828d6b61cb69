"""Compares survivors with the reference solution, with the extension that searches for inputs."""

from itertools import islice
from pathlib import Path

from agentbench.attempt.context import PreparedContext
from agentbench.attempt.resources import RunResources
from agentbench.audit.task_facts import read_task_facts
from agentbench.core.display_text import counted
from agentbench.core.extensions import Slot, load_offer
from agentbench.errors import RunCancelled, UsageError
from agentbench.extensions.test_quality.stronger_tests import EvidenceBySurvivor, Survivors
from agentbench.integrity.protection import JudgedChange
from agentbench.scoring.evidence import Severity
from agentbench.validation.mutation_results import EvidenceKind, WrongFixEvidence

_MAX_COMPARED = 10  # survivors of a task, since each takes its seconds


def search_evidence(
    context: PreparedContext,
    resources: RunResources,
    cache_dir: Path,
    *,
    reference: JudgedChange,
    survivors: Survivors,
    seconds: float,
) -> tuple[str, EvidenceBySurvivor]:
    """How far survivors were compared with the reference solution, and where they differ from it.

    Raises:
        RunCancelled: it was cancelled.
        SandboxError: the engine is lost.
    """
    if not survivors:
        return "", {}
    try:
        load = load_offer(Slot.CHANGE_COMPARISON, "inputs", "the search")
        facts = read_task_facts(context.task, context.mirrors)
        compare = load(facts, resources, cache_dir, seconds=seconds)
    except UsageError as error:  # the extension or its libraries are not installed
        return f"not done: {error}", {}
    found: dict[int, tuple[WrongFixEvidence, ...]] = {}
    reasons: dict[str, None] = {}
    compared = 0
    for at, change in islice(survivors.items(), _MAX_COMPARED):
        if resources.cancel.is_set():
            raise RunCancelled
        # What is never judged, such as a change of a visible test, is the same in both trees.
        unjudged = {p: file for p, file in facts.fixed.items() if p not in reference.files}
        findings = compare({**unjudged, **change.files})
        found[at] = tuple(
            WrongFixEvidence(kind=EvidenceKind.INPUT, where=one.where, what=one.what)
            for one in findings
            if one.severity is not Severity.INFO
        )
        was_compared = found[at] or any(one.rule == "compared" for one in findings)
        compared += bool(was_compared)
        if not was_compared:
            reasons.update(dict.fromkeys(one.what for one in findings))
    parts = [f"{counted(compared, 'survivor')} compared with the reference, {seconds:g} s each"]
    if reasons:
        number = min(len(survivors), _MAX_COMPARED) - compared
        parts.append(f"{number} could not be: {next(iter(reasons))}")
    if len(survivors) > _MAX_COMPARED:
        parts.append(f"{len(survivors) - _MAX_COMPARED} not tried, at most {_MAX_COMPARED} are")
    return "; ".join(parts), found
