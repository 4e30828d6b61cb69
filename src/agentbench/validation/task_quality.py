"""Which tasks have tests that reject right fixes or accept wrong ones, as their proofs say."""

from collections.abc import Iterable
from pathlib import Path

from agentbench.audit.rule import weight
from agentbench.report.reported_run import ReportedRun
from agentbench.report.unfair_tasks import TaskQualities
from agentbench.runs.store.configuration import TaskEntry, TaskQuality
from agentbench.scoring.evidence import Finding, Severity
from agentbench.tasks.problem import TaskId
from agentbench.validation.fairness_results import VariantOutcome
from agentbench.validation.stored_proof import StoredProof, read_proof

UNSTATED_RULES = frozenset({"unstated-name", "unstated-message", "unstated-change"})
"""The rules of the audit about what only the reference solution can know."""


def unstated_findings(proof: StoredProof) -> tuple[Finding, ...]:
    """The names, messages and changes that tests need and nothing gives, worst first."""
    found = proof.fairness.unstated if proof.fairness is not None else ()
    # Each validation applies these rules, and stores what it finds with the leaks.
    audited = [leak for leak in proof.leaks if leak.rule in UNSTATED_RULES]
    return tuple(sorted(dict.fromkeys([*found, *audited]), key=lambda one: -weight(one.severity)))


def needed_findings(proof: StoredProof) -> tuple[Finding, ...]:
    """Those of them at which nobody could guess."""
    return tuple(one for one in unstated_findings(proof) if one.severity is not Severity.INFO)


def quality_in_proof(proof: StoredProof | None) -> TaskQuality:
    """What a proof says about the tests of its task."""
    if proof is None:
        return TaskQuality()
    fairness, score = proof.fairness, proof.strength
    rejects: bool | None = bool(needed_findings(proof))
    if fairness is not None and fairness.rejected:
        rejects = True
    elif not rejects and (fairness is None or not fairness.of(VariantOutcome.ACCEPTED)):
        rejects = None  # only a right fix that passes is a sign of fair tests
    if score is None or score.percent is None:
        return TaskQuality(rejects_right_fixes=rejects)
    return TaskQuality(
        rejects_right_fixes=rejects,
        accepts_mutants=bool(score.survivors),
        # A survivor without evidence may be right.
        accepts_wrong_fixes=True if score.certified else None if score.survivors else False,
    )


def quality_of_entry(entry: TaskEntry) -> TaskQuality:
    """What is known of a run's task: its proof of today if the folder still has it, or run.json."""
    found = quality_in_proof(read_proof(Path(entry.folder), digest=entry.digest))
    return entry.quality.replace(**{name: value for name, value in found if value is not None})


def qualities_of_runs(runs: Iterable[ReportedRun]) -> TaskQualities:
    """What is known of the tasks of some runs; a fault that one of them knows counts for all."""
    by_task: dict[TaskId, TaskQuality] = {}
    for run in runs:
        for entry in run.configuration.tasks if run.configuration is not None else ():
            known, found = by_task.get(entry.id, TaskQuality()), quality_of_entry(entry)
            by_task[entry.id] = TaskQuality(
                rejects_right_fixes=_worst(known.rejects_right_fixes, found.rejects_right_fixes),
                accepts_mutants=_worst(known.accepts_mutants, found.accepts_mutants),
                accepts_wrong_fixes=_worst(known.accepts_wrong_fixes, found.accepts_wrong_fixes),
            )
    return TaskQualities(by_task=by_task)


def _worst(*answers: bool | None) -> bool | None:
    """True if an answer is, None if none is known."""
    known = [answer for answer in answers if answer is not None]
    return any(known) if known else None
