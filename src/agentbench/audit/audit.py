"""The audit of a task, and of a run with its attempts: all rules by name."""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from agentbench.attempt.record import AttemptRecord
from agentbench.audit import attempt_rules, hidden_test_rules, leak_rules, run_rules, setup_rules
from agentbench.audit.hidden_test_rules import controlled_functions
from agentbench.audit.rule import AuditResult, AuditSubject, Rules, apply_rules, by_severity
from agentbench.audit.run_facts import AttemptFacts, RunFolder, read_attempt
from agentbench.audit.run_rules import RunAuditFacts
from agentbench.audit.task_facts import TaskFacts, read_task_facts
from agentbench.errors import InputError
from agentbench.scoring.evidence import Finding
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task

TASK_RULES: Rules[TaskFacts] = MappingProxyType(
    {
        "hidden-tests-in-base": leak_rules.hidden_tests_in_base,
        "visible-tests": leak_rules.visible_tests,
        "solution-in-instruction": leak_rules.solution_in_instruction,
        "solution-in-base": leak_rules.solution_in_base,
        "solution-named-in-base": leak_rules.solution_named_in_base,
        "built-copy-in-base": leak_rules.built_copies_in_base,
        "history-in-base": leak_rules.history_in_base,
        "tests-in-instruction": leak_rules.tests_in_instruction,
        "fixed-release": setup_rules.fixed_release_installed,
        "unpinned-install": setup_rules.unpinned_installs,
        "secret-in-environment": setup_rules.secrets_in_environment,
        "few-tests": hidden_test_rules.few_tests,
        "no-regression-tests": hidden_test_rules.no_regression_tests,
        "weak-control": hidden_test_rules.weakly_controlled,
        "controls-off": hidden_test_rules.controls_off,
        "asserts-nothing": hidden_test_rules.asserts_nothing,
        "configuration-touched": hidden_test_rules.touches_configuration,
        "no-solution": hidden_test_rules.no_solution,
        "not-read": hidden_test_rules.not_read,
    }
)
"""The rules for a task."""


def audit_task(facts: TaskFacts) -> AuditResult:
    """Apply every rule to a task."""
    controlled = controlled_functions(facts)
    sure = sum(why is None for why in controlled.values())
    return AuditResult(
        subject=AuditSubject.TASK,
        name=facts.task.id,
        note=f"{sure} of {len(controlled)} fail_to_pass functions controlled" if controlled else "",
        findings=apply_rules(TASK_RULES, facts),
    )


RUN_RULES: Rules[RunAuditFacts] = MappingProxyType(
    {
        "record-torn": run_rules.torn_records,
        "records-disagree": run_rules.records_disagree,
        "record-of-another-run": run_rules.record_of_another_run,
        "attempt-missing": run_rules.attempts_missing,
        "task-not-here": run_rules.tasks_not_here,
    }
)
"""The rules for a run."""

ATTEMPT_RULES: Rules[AttemptFacts] = MappingProxyType(
    {
        "verdict-differs": attempt_rules.verdict_differs,
        "finding-left-out": attempt_rules.findings_hidden,
        "resolved-in-spite": attempt_rules.resolved_despite_finding,
        "files-disagree": attempt_rules.files_disagree,
        "controls-disagree": attempt_rules.controls_disagree,
        "no-controls": attempt_rules.no_controls,
        "weakly-controlled": attempt_rules.weak_controls,
        "sandbox-lacks": attempt_rules.sandbox_lacks,
        "task-changed": attempt_rules.task_changed,
        "equals-solution": attempt_rules.equals_solution,
        "hidden-tests-in-patch": attempt_rules.hidden_tests_in_patch,
        "fetched-upstream": attempt_rules.fetched_upstream,
        "suspicious-code": attempt_rules.suspicious,
        "recorded": attempt_rules.already_recorded,
    }
)
"""The rules for an attempt."""


FurtherFindings = Callable[[AttemptFacts], tuple[Finding, ...]]
"""Further findings about an attempt."""


def audit_run(
    run: RunFolder,
    mirrors: Mirrors,
    *,
    glob: str | None = None,
    further: FurtherFindings | None = None,
) -> Iterator[AuditResult]:
    """Apply every rule to a run and to the attempts whose task's id fits."""
    tasks, missing = _task_facts_of(run, mirrors, glob)
    configuration = run.configuration
    yield AuditResult(
        subject=AuditSubject.RUN,
        name=configuration.run_id,
        note=f"{len(run.latest)} attempts by {configuration.agent} in {configuration.sandbox}",
        findings=apply_rules(RUN_RULES, RunAuditFacts(run=run, missing_tasks=missing)),
    )
    for record in sorted(run.latest, key=lambda one: (one.task_id, one.attempt)):
        if is_selected(record.task_id, glob):
            facts = read_attempt(run, record, tasks.get(record.task_id))
            yield _audit_attempt(record, facts, further(facts) if further is not None else ())


def _audit_attempt(
    record: AttemptRecord, facts: AttemptFacts, further: tuple[Finding, ...]
) -> AuditResult:
    findings = (*apply_rules(ATTEMPT_RULES, facts), *further)
    verdict = "resolved" if record.resolved else record.failure_reason or "not resolved"
    return AuditResult(
        subject=AuditSubject.ATTEMPT,
        name=f"{record.task_id} {record.attempt}",
        note=str(verdict),
        findings=by_severity(findings),
    )


def _task_facts_of(
    run: RunFolder, mirrors: Mirrors, glob: str | None
) -> tuple[dict[str, TaskFacts], dict[str, str]]:
    """The run's tasks that are still where run.json says, and why the others are not."""
    found: dict[str, TaskFacts] = {}
    missing: dict[str, str] = {}
    for entry in run.configuration.tasks:
        if not is_selected(entry.id, glob):
            continue
        try:
            found[entry.id] = read_task_facts(_load_task_at(Path(entry.folder), mirrors), mirrors)
        except InputError as error:
            missing[entry.id] = error.faults[0]
    return found, missing


def _load_task_at(folder: Path, mirrors: Mirrors) -> Task:
    """The task in a folder; nothing is read of a folder without a task."""
    try:
        if folder.is_absolute() and (folder / "task.toml").is_file():
            return load_task(folder, mirrors=mirrors)
    except (OSError, ValueError) as error:  # a name too long, or one with a NUL
        raise InputError(f"the task's folder cannot be read: {error}") from None
    raise InputError(f"{folder}: is not a task's folder")


def is_selected(task_id: str, glob: str | None) -> bool:
    """Whether a task's id fits a glob; without a glob every one does."""
    return glob is None or fnmatchcase(task_id, glob)
