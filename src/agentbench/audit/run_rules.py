"""Rules about a run as a whole: whether every attempt is there, once, and whole."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from agentbench.attempt.record import AttemptRecord
from agentbench.audit.rule import RuleHit, critical, info
from agentbench.audit.run_facts import RunFolder, UnreadableRunFileError
from agentbench.runs.store.configuration import RunEnding
from agentbench.scoring.evidence import Severity

_ATTEMPTS_FILE = "attempts.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAuditFacts:
    """A run, and why some of its tasks are missing."""

    run: RunFolder
    missing_tasks: dict[str, str]


def torn_records(facts: RunAuditFacts) -> Iterator[RuleHit]:
    """A line that is not a record may hide an attempt, although a power cut leaves one, too."""
    for warning in facts.run.all_records.warnings:
        where, _, what = warning.partition(": ")
        yield critical(where.rpartition("/")[2], what)


def records_disagree(facts: RunAuditFacts) -> Iterator[RuleHit]:
    """Each record is stored twice; if the two differ or one is gone, somebody changed them."""
    run = facts.run
    listed: dict[str, list[AttemptRecord]] = {}
    for record in run.all_records.records:
        listed.setdefault(run.attempt_folder_of(record), []).append(record)
    kept: dict[str, list[AttemptRecord]] = {}
    for name in run.record_files():
        place = name.removesuffix("/record.json").partition(".rescored-")[0]
        record_or_fault = _record_in(run, name)
        if isinstance(record_or_fault, str):
            yield critical(name, record_or_fault)
            continue
        kept.setdefault(place, []).append(record_or_fault)
        if record_or_fault not in listed.get(place, []):
            yield critical(name, f"has no equal line in {_ATTEMPTS_FILE}")
    for place, records in listed.items():
        if any(record not in kept.get(place, []) for record in records):
            yield critical(place, f"a line of {_ATTEMPTS_FILE} has no equal record.json")


def _record_in(run: RunFolder, name: str) -> AttemptRecord | str:
    try:
        return AttemptRecord.model_validate_json(run.read(name))
    except UnreadableRunFileError as error:
        return str(error)
    except ValidationError:
        return "is not a valid record"


def record_of_another_run(facts: RunAuditFacts) -> Iterator[RuleHit]:
    """A record of another run, or of a task that run.json does not name, was put here."""
    configuration = facts.run.configuration
    digests = {entry.id: entry.digest for entry in configuration.tasks}
    for record in facts.run.all_records.records:
        place = facts.run.attempt_folder_of(record)
        if record.run_id != configuration.run_id:
            yield critical(place, f"belongs to the run {record.run_id}")
        elif record.task_id not in digests:
            yield critical(place, "belongs to a task that run.json does not list")
        elif record.task_digest != digests[record.task_id]:
            yield critical(place, "belongs to another state of its task than run.json lists")


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
    what = f"{len(missing)} planned attempts have no record, first {missing[0]} (run: {ending})"
    yield RuleHit(Severity.CRITICAL if finished else Severity.INFO, _ATTEMPTS_FILE, what)


def tasks_not_here(facts: RunAuditFacts) -> Iterator[RuleHit]:
    """Without its task, an attempt cannot be compared with hidden tests, fix and base."""
    for task_id, why in facts.missing_tasks.items():
        yield info(f"task {task_id}", f"not checked against its task: {why}")
