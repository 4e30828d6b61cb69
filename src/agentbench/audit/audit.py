"""Audits tasks, attempts and runs by all rules."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from agentbench.attempt.record import AttemptRecord
from agentbench.audit import attempt_rules, hidden_test_rules, leak_rules, rule, setup_rules
from agentbench.audit.run_facts import AttemptFacts, RunFolder, UnreadableRunFileError, read_attempt
from agentbench.audit.task_facts import TaskFacts, read_task_facts
from agentbench.errors import InputError
from agentbench.integrity.finding_rules import ChangeRule
from agentbench.runs.store.configuration import RunEnding
from agentbench.scoring.evidence import Finding, Severity
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task

_ATTEMPTS_FILE = "attempts.jsonl"
WEAK_CONTROL: Final = "weak-control"
"""The rule that tells how well the tests of a task can be controlled."""
TASK_RULES: rule.Rules[TaskFacts] = {
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
    "own-network": setup_rules.own_networks_listed,
    "few-tests": hidden_test_rules.few_tests,
    "no-regression-tests": hidden_test_rules.no_regression_tests,
    WEAK_CONTROL: hidden_test_rules.weakly_controlled,
    "controls-off": hidden_test_rules.controls_off,
    "asserts-nothing": hidden_test_rules.asserts_nothing,
    "configuration-touched": hidden_test_rules.touches_configuration,
    "no-solution": hidden_test_rules.no_solution,
    "not-read": hidden_test_rules.not_read,
}
"""The rules for a task."""
ATTEMPT_RULES: rule.Rules[AttemptFacts] = {
    "verdict-differs": attempt_rules.verdict_differs,
    "finding-left-out": attempt_rules.findings_hidden,
    "resolved-in-spite": attempt_rules.resolved_despite_finding,
    "quarantined": attempt_rules.quarantined,
    "tampered-with-tests": attempt_rules.tampered_with_tests,
    "files-disagree": attempt_rules.files_disagree,
    "controls-disagree": attempt_rules.controls_disagree,
    "no-controls": attempt_rules.no_controls,
    "weakly-controlled": attempt_rules.weak_controls,
    "sandbox-lacks": attempt_rules.sandbox_lacks,
    "task-changed": attempt_rules.task_changed,
    "equals-solution": attempt_rules.equals_solution,
    "hidden-tests-in-patch": attempt_rules.hidden_tests_in_patch,
    "fetched-upstream": attempt_rules.fetched_upstream,
    ChangeRule.SUSPICIOUS_CODE: attempt_rules.suspicious,
    "recorded": attempt_rules.already_recorded,
}
"""The rules for an attempt."""
FurtherFindings = Callable[[AttemptFacts], tuple[Finding, ...]]
"""Further findings about an attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAuditFacts:
    """A run, and why some of its tasks are missing."""

    run: RunFolder
    missing_tasks: dict[str, str]


def torn_records(facts: RunAuditFacts) -> Iterator[rule.RuleHit]:
    """A line that is not a record may hide an attempt, although a power cut leaves one, too."""
    for warning in facts.run.set_aside:
        where, _, what = warning.partition(": ")
        yield rule.critical(where.rpartition("/")[2], what)


def records_disagree(facts: RunAuditFacts) -> Iterator[rule.RuleHit]:
    """Each record is stored twice; if the two differ or one is gone, somebody changed them."""
    run = facts.run
    listed: dict[str, list[AttemptRecord]] = {}
    for record in run.all_records:
        listed.setdefault(run.attempt_folder_of(record), []).append(record)
    stored: dict[str, list[AttemptRecord]] = {}
    for name in run.record_files():
        attempt_folder = name.removesuffix("/record.json").partition(".rescored-")[0]
        record_or_fault = _record_in(run, name)
        if isinstance(record_or_fault, str):
            yield rule.critical(name, record_or_fault)
            continue
        stored.setdefault(attempt_folder, []).append(record_or_fault)
        if record_or_fault not in listed.get(attempt_folder, []):
            yield rule.critical(name, f"has no equal line in {_ATTEMPTS_FILE}")
    for attempt_folder, records in listed.items():
        if any(record not in stored.get(attempt_folder, []) for record in records):
            yield rule.critical(
                attempt_folder, f"a line of {_ATTEMPTS_FILE} has no equal record.json"
            )


def _record_in(run: RunFolder, name: str) -> AttemptRecord | str:
    try:
        return AttemptRecord.model_validate_json(run.read(name))
    except UnreadableRunFileError as error:
        return str(error)
    except ValidationError:
        return "is not a valid record"


def record_of_another_run(facts: RunAuditFacts) -> Iterator[rule.RuleHit]:
    """A record of another run, or of a task that run.json does not name, was put here."""
    configuration = facts.run.configuration
    digests = {entry.id: entry.digest for entry in configuration.tasks}
    for record in facts.run.all_records:
        attempt_folder = facts.run.attempt_folder_of(record)
        if record.run_id != configuration.run_id:
            yield rule.critical(attempt_folder, f"belongs to the run {record.run_id}")
        elif record.task_id not in digests:
            yield rule.critical(attempt_folder, "belongs to a task that run.json does not list")
        elif record.task_digest != digests[record.task_id]:
            yield rule.critical(
                attempt_folder, "belongs to another state of its task than run.json lists"
            )


def attempts_missing(facts: RunAuditFacts) -> Iterator[rule.RuleHit]:
    """A finished run has a record of every attempt; a missing one changes the rate."""
    configuration = facts.run.configuration
    recorded = {(record.task_id, record.attempt) for record in facts.run.latest}
    missing = [
        f"{entry.id} {number}"
        for entry in configuration.tasks
        for number in entry.numbers(min(configuration.attempts, 10_000))
        if (entry.id, number) not in recorded
    ]
    if not missing:
        return
    may_end_early = configuration.max_cost_usd is not None or configuration.max_failures is not None
    finished = configuration.ending is RunEnding.FINISHED and not may_end_early
    ending = configuration.ending.value if configuration.ending else "cut off"
    what = f"{len(missing)} planned attempts have no record, first {missing[0]} (run: {ending})"
    yield rule.RuleHit(Severity.CRITICAL if finished else Severity.INFO, _ATTEMPTS_FILE, what)


def tasks_not_here(facts: RunAuditFacts) -> Iterator[rule.RuleHit]:
    """Without its task, an attempt cannot be compared with hidden tests, fix and base."""
    for task_id, why in facts.missing_tasks.items():
        yield rule.info(f"task {task_id}", f"not checked against its task: {why}")


def audit_task(facts: TaskFacts) -> rule.AuditResult:
    """Apply every rule to a task."""
    controlled = hidden_test_rules.controlled_functions(facts)
    sure = sum(why is None for why in controlled.values())
    return rule.AuditResult(
        subject=rule.AuditSubject.TASK,
        name=facts.task.id,
        note=f"{sure} of {len(controlled)} fail_to_pass functions controlled" if controlled else "",
        findings=rule.apply_rules(TASK_RULES, facts),
    )


RUN_RULES: rule.Rules[RunAuditFacts] = {
    "record-torn": torn_records,
    "records-disagree": records_disagree,
    "record-of-another-run": record_of_another_run,
    "attempt-missing": attempts_missing,
    "task-not-here": tasks_not_here,
}
"""The rules for a run."""


def audit_run(
    run: RunFolder,
    mirrors: Mirrors,
    *,
    glob: str | None = None,
    further: FurtherFindings | None = None,
) -> Iterator[rule.AuditResult]:
    """Apply every rule to a run and to the attempts whose task's id fits."""
    tasks, missing = _task_facts_of(run, mirrors, glob)
    configuration = run.configuration
    yield rule.AuditResult(
        subject=rule.AuditSubject.RUN,
        name=configuration.run_id,
        note=f"{len(run.latest)} attempts by {configuration.agent} in {configuration.sandbox}",
        findings=rule.apply_rules(RUN_RULES, RunAuditFacts(run=run, missing_tasks=missing)),
    )
    for record in sorted(run.latest, key=lambda one: (one.task_id, one.attempt)):
        if is_selected(record.task_id, glob):
            facts = read_attempt(run, record, tasks.get(record.task_id))
            yield _audit_attempt(record, facts, further(facts) if further is not None else ())


def _audit_attempt(
    record: AttemptRecord, facts: AttemptFacts, further: tuple[Finding, ...]
) -> rule.AuditResult:
    findings = (*rule.apply_rules(ATTEMPT_RULES, facts), *further)
    verdict = "resolved" if record.resolved else record.failure_reason or "not resolved"
    verdict = "quarantined" if record.quarantined else verdict
    return rule.AuditResult(
        subject=rule.AuditSubject.ATTEMPT,
        name=f"{record.task_id} {record.attempt}",
        note=str(verdict),
        findings=rule.by_severity(findings),
    )


def _task_facts_of(
    run: RunFolder, mirrors: Mirrors, glob: str | None
) -> tuple[dict[str, TaskFacts], dict[str, str]]:
    """The run's tasks that are still where run.json says, and why the others are missing."""
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
