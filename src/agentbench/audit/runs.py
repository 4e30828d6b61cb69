"""The audit of a run: the run as a whole, then each of its attempts."""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from agentbench.audit import control_rules, patch_rules, record_rules, run_rules
from agentbench.audit.attempt_facts import AttemptFacts, read_attempt
from agentbench.audit.rule import Audited, Rules, Subject, apply_rules, weight
from agentbench.audit.run_folder import RunFolder
from agentbench.audit.run_rules import RunFacts
from agentbench.audit.task_facts import TaskFacts, read_task_facts
from agentbench.errors import InputError
from agentbench.runs.record import AttemptRecord
from agentbench.scoring.evidence import Finding
from agentbench.tasks.load import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task

RUN_RULES: Rules[RunFacts] = MappingProxyType(
    {
        "record-torn": run_rules.torn_records,
        "records-disagree": run_rules.records_disagree,
        "record-of-another-run": run_rules.of_another_run,
        "attempt-missing": run_rules.attempts_missing,
        "task-not-here": run_rules.tasks_not_here,
    }
)
"""All that is asked of a run."""

ATTEMPT_RULES: Rules[AttemptFacts] = MappingProxyType(
    {
        "verdict-differs": record_rules.verdict_differs,
        "finding-left-out": record_rules.findings_hidden,
        "resolved-in-spite": record_rules.resolved_in_spite,
        "files-disagree": record_rules.files_disagree,
        "controls-disagree": control_rules.controls_disagree,
        "no-controls": control_rules.no_controls,
        "weakly-controlled": control_rules.weak_controls,
        "sandbox-lacks": record_rules.sandbox_lacks,
        "task-changed": record_rules.task_changed,
        "equals-solution": patch_rules.equals_solution,
        "hidden-tests-in-patch": patch_rules.hidden_tests_in_patch,
        "fetched-upstream": patch_rules.fetched_upstream,
        "suspicious-code": patch_rules.suspicious,
        "recorded": record_rules.already_recorded,
    }
)
"""All that is asked of an attempt."""


Further = Callable[[AttemptFacts], tuple[Finding, ...]]
"""What else is found about an attempt."""


def audit_run(
    run: RunFolder, mirrors: Mirrors, *, glob: str | None = None, further: Further | None = None
) -> Iterator[Audited]:
    """Put every rule to a run and to the attempts whose task's id fits."""
    tasks, missing = _tasks(run, mirrors, glob)
    configuration = run.configuration
    yield Audited(
        subject=Subject.RUN,
        name=configuration.run_id,
        note=f"{len(run.latest)} attempts by {configuration.agent} in {configuration.sandbox}",
        findings=apply_rules(RUN_RULES, RunFacts(run=run, missing_tasks=missing)),
    )
    for record in sorted(run.latest, key=lambda one: (one.task_id, one.attempt)):
        if _fits(record.task_id, glob):
            facts = read_attempt(run, record, tasks.get(record.task_id))
            yield _attempt(record, facts, further(facts) if further is not None else ())


def _attempt(record: AttemptRecord, facts: AttemptFacts, further: tuple[Finding, ...]) -> Audited:
    findings = (*apply_rules(ATTEMPT_RULES, facts), *further)
    verdict = "resolved" if record.resolved else record.failure_reason or "not resolved"
    return Audited(
        subject=Subject.ATTEMPT,
        name=f"{record.task_id} {record.attempt}",
        note=str(verdict),
        findings=tuple(sorted(findings, key=lambda finding: -weight(finding.severity))),
    )


def _tasks(
    run: RunFolder, mirrors: Mirrors, glob: str | None
) -> tuple[dict[str, TaskFacts], dict[str, str]]:
    """The run's tasks that are still where run.json says, and why the others are not."""
    found: dict[str, TaskFacts] = {}
    missing: dict[str, str] = {}
    for entry in run.configuration.tasks:
        if not _fits(entry.id, glob):
            continue
        try:
            found[entry.id] = read_task_facts(_loaded(Path(entry.folder), mirrors), mirrors)
        except InputError as error:
            missing[entry.id] = error.faults[0]
    return found, missing


def _loaded(folder: Path, mirrors: Mirrors) -> Task:
    """The task in a folder; nothing is read of a folder that holds none."""
    try:
        if folder.is_absolute() and (folder / "task.toml").is_file():
            return load_task(folder, mirrors=mirrors)
    except (OSError, ValueError) as error:  # a name too long, or one with a NUL
        raise InputError(f"the task's folder cannot be read: {error}") from None
    raise InputError(f"{folder}: is no task's folder here")


def _fits(task_id: str, glob: str | None) -> bool:
    return glob is None or fnmatchcase(task_id, glob)
