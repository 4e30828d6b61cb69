"""Rules about a run as a whole: whether every attempt is there, once, and whole."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from agentbench.attempt.record import AttemptRecord
from agentbench.audit.rule import RuleHit
from agentbench.audit.run_facts import RunFolder, UnreadableRunFileError
from agentbench.runs.store.configuration import RunEnding
from agentbench.scoring.evidence import Severity

_ATTEMPTS_FILE = "attempts.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAuditFacts:
    """A run, and which of its tasks are not to be had here and why."""

    run: RunFolder
    missing_tasks: dict[str, str]


def torn_records(facts: RunAuditFacts) -> Iterator[RuleHit]:
    """A line that is no record may hide an attempt, though a power cut leaves one, too."""
    for warning in facts.run.all_records.warnings:
        where, _, what = warning.partition(": ")
        yield RuleHit(Severity.CRITICAL, where.rpartition("/")[2], what)


def records_disagree(facts: RunAuditFacts) -> Iterator[RuleHit]:
    """Each record is kept twice; where the two differ, or one is gone, somebody was there."""
    run = facts.run
    listed: dict[str, list[AttemptRecord]] = {}
    for record in run.all_records.records:
        listed.setdefault(run.attempt_folder_of(record), []).append(record)
    kept: dict[str, list[AttemptRecord]] = {}
    for name in run.record_files():
        place = name.removesuffix("/record.json").partition(".rescored-")[0]
        record_or_fault = _record_in(run, name)
        if isinstance(record_or_fault, str):
            yield RuleHit(Severity.CRITICAL, name, record_or_fault)
            continue
        kept.setdefault(place, []).append(record_or_fault)
        if record_or_fault not in listed.get(place, []):
            yield RuleHit(Severity.CRITICAL, name, f"has no equal line in {_ATTEMPTS_FILE}")
    for place, records in listed.items():
        if any(record not in kept.get(place, []) for record in records):
            what = f"a line of {_ATTEMPTS_FILE} has no equal record.json"
            yield RuleHit(Severity.CRITICAL, place, what)


def _record_in(run: RunFolder, name: str) -> AttemptRecord | str:
    """A record.json, or why it is none."""
    try:
        return AttemptRecord.model_validate_json(run.read(name))
    except UnreadableRunFileError as error:
        return str(error)
    except ValidationError:
        return "is no record, or one that was damaged"


def record_of_another_run(facts: RunAuditFacts) -> Iterator[RuleHit]:
    """A record of another run, or of a task that run.json does not name, was put here."""
    configuration = facts.run.configuration
    digests = {entry.id: entry.digest for entry in configuration.tasks}
    for record in facts.run.all_records.records:
        place = facts.run.attempt_folder_of(record)
        if record.run_id != configuration.run_id:
            yield RuleHit(Severity.CRITICAL, place, f"is of the run {record.run_id}")
        elif record.task_id not in digests:
            yield RuleHit(Severity.CRITICAL, place, "is of a task that run.json does not name")
        elif record.task_digest != digests[record.task_id]:
            yield RuleHit(
                Severity.CRITICAL, place, "is of another state of its task than run.json's"
            )


def attempts_missing(facts: RunAuditFacts) -> Iterator[RuleHit]:
    """A finished run has a record of every attempt; a missing one changes the rate."""
    configuration = facts.run.configuration
    there = {(record.task_id, record.attempt) for record in facts.run.latest}
    missing = [
        f"{entry.id} {number}"
        for entry in configuration.tasks
        for number in range(1, min(configuration.attempts, 10_000) + 1)
        if (entry.id, number) not in there
    ]
    if not missing:
        return
    finished = configuration.ending is RunEnding.FINISHED and configuration.max_cost_usd is None
    ending = configuration.ending.value if configuration.ending else "cut off"
    what = f"{len(missing)} planned attempts have no record, first {missing[0]}; the run: {ending}"
    yield RuleHit(Severity.CRITICAL if finished else Severity.INFO, _ATTEMPTS_FILE, what)


def tasks_not_here(facts: RunAuditFacts) -> Iterator[RuleHit]:
    """Without its task, an attempt cannot be held against hidden tests, fix and base."""
    for task_id, why in facts.missing_tasks.items():
        what = f"not held against its task: {why}"
        yield RuleHit(Severity.INFO, f"task {task_id}", what)
