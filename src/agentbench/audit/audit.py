"""Audits tasks, attempts and runs by all rules."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from agentbench.attempt.record import AttemptRecord
from agentbench.audit import (
    attempt_rules,
    changed_expectations,
    rule,
    task_rules,
    unstated,
)
from agentbench.audit.run_facts import AttemptFacts, RunFolder, UnreadableRunFileError, read_attempt
from agentbench.audit.task_facts import FilesByPath, TaskFacts, read_task_facts
from agentbench.errors import InputError
from agentbench.runs.store.configuration import RunEnding
from agentbench.scoring.evidence import Finding, Severity
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import is_selected

_ATTEMPTS_FILE = "attempts.jsonl"
WEAK_CONTROL: Final = "weak-control"
"""The rule about how well control runs can check the tests of a task."""
TASK_RULES: rule.Rules[TaskFacts] = {
    "hidden-tests-in-base": task_rules.hidden_tests_in_base,
    "visible-tests": task_rules.visible_tests,
    "solution-in-instruction": task_rules.solution_in_instruction,
    "solution-in-base": task_rules.solution_in_base,
    "built-copy-in-base": task_rules.built_copies_in_base,
    "history-in-base": task_rules.history_in_base,
    "tests-in-instruction": task_rules.tests_in_instruction,
    "fixed-release": task_rules.fixed_release_installed,
    "secret-in-environment": task_rules.secrets_in_environment,
    "own-network": task_rules.own_networks_listed,
    "shared-verifier": task_rules.shared_verifiers,
    "verifier-installs": task_rules.verifier_installs,
    "answer-in-image": task_rules.answers_in_image,
    "no-regression-tests": task_rules.no_regression_tests,
    "unstated-name": unstated.unstated_names,
    "unstated-message": unstated.unstated_messages,
    "unstated-change": changed_expectations.changed_expectations,
    WEAK_CONTROL: task_rules.weakly_controlled,
    "not-read": task_rules.not_read,
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
    "sandbox-lacks": attempt_rules.sandbox_lacks,
    "task-changed": attempt_rules.task_changed,
    "hidden-tests-in-patch": attempt_rules.hidden_tests_in_patch,
}
"""The rules for an attempt."""
FurtherFindings = Callable[[AttemptFacts], tuple[Finding, ...]]
"""Further findings about an attempt."""
ChangeFindings = Callable[[FilesByPath], tuple[Finding, ...]]
"""Findings about a change to a task's base: a warning for each difference from the reference."""


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
        try:
            record = AttemptRecord.model_validate_json(run.read(name))
        except UnreadableRunFileError as error:
            yield rule.critical(name, str(error))
            continue
        except ValidationError:
            yield rule.critical(name, "is not a valid record")
            continue
        stored.setdefault(attempt_folder, []).append(record)
        if record not in listed.get(attempt_folder, []):
            yield rule.critical(name, f"has no equal line in {_ATTEMPTS_FILE}")
    for attempt_folder, records in listed.items():
        if any(record not in stored.get(attempt_folder, []) for record in records):
            yield rule.critical(
                attempt_folder, f"a line of {_ATTEMPTS_FILE} has no equal record.json"
            )


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
        # An edited run.json may claim a billion attempts.
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
    controlled = task_rules.controlled_functions(facts)
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
    globs: Sequence[str] | None = None,
    further: FurtherFindings | None = None,
) -> Iterator[rule.AuditResult]:
    """Apply every rule to a run and to the attempts whose task's id fits."""
    tasks, missing = _task_facts_of(run, mirrors, globs)
    configuration = run.configuration
    yield rule.AuditResult(
        subject=rule.AuditSubject.RUN,
        name=configuration.run_id,
        note=f"{len(run.latest)} attempts by {configuration.agent} in {configuration.sandbox}",
        findings=rule.apply_rules(RUN_RULES, RunAuditFacts(run=run, missing_tasks=missing)),
    )
    for record in sorted(run.latest, key=lambda one: (one.task_id, one.attempt)):
        if is_selected(record.task_id, globs):
            facts = read_attempt(run, record, tasks.get(record.task_id))
            findings = rule.apply_rules(ATTEMPT_RULES, facts)
            findings += further(facts) if further is not None else ()
            verdict = "resolved" if record.resolved else record.failure_reason or "not resolved"
            yield rule.AuditResult(
                subject=rule.AuditSubject.ATTEMPT,
                name=f"{record.task_id} {record.attempt}",
                note="quarantined" if record.quarantined else str(verdict),
                findings=rule.by_severity(findings),
            )


def _task_facts_of(
    run: RunFolder, mirrors: Mirrors, globs: Sequence[str] | None
) -> tuple[dict[str, TaskFacts], dict[str, str]]:
    """The run's tasks that are still where run.json says, and why the others are missing."""
    found: dict[str, TaskFacts] = {}
    missing: dict[str, str] = {}
    for entry in run.configuration.tasks:
        if not is_selected(entry.id, globs):
            continue
        folder = Path(entry.folder)
        try:
            # Of a folder without a task, nothing is read: run.json may name any path.
            if not (folder.is_absolute() and (folder / "task.toml").is_file()):
                missing[entry.id] = f"{folder}: is not a task's folder"
                continue
            found[entry.id] = read_task_facts(load_task(folder, mirrors=mirrors), mirrors)
        except InputError as error:
            missing[entry.id] = error.faults[0]
        except (OSError, ValueError) as error:  # a name too long, or one with a NUL
            missing[entry.id] = f"the task's folder cannot be read: {error}"
    return found, missing
