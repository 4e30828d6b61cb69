"""The page of one attempt: its verdict and the reason, its timeline, stages, change and steps."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from starlette.requests import Request

from agentbench.attempt.logs import read_events
from agentbench.attempt.record import AttemptRecord
from agentbench.audit.run_facts import RunFolder
from agentbench.core.extensions import Slot, offers
from agentbench.core.host import usable_cache_dir
from agentbench.errors import AgentbenchError, InputError
from agentbench.extensions.view import attempt_files
from agentbench.extensions.view.queries import (
    CaseFilter,
    parse_positive_int,
    parse_word,
    select_cases,
)
from agentbench.extensions.view.rendering import PageContext, TemplateValues
from agentbench.extensions.view.run_cache import LiveRun
from agentbench.extensions.view.runs_folder import PageNotFoundError
from agentbench.extensions.view.timeline_table import timeline_table
from agentbench.report.attempt_columns import verdict_word
from agentbench.report.attempt_files import AttemptFiles, log_name
from agentbench.report.attempt_text import usage_text
from agentbench.report.cause_text import cause_facts
from agentbench.report.failure_cause import find_cause, quarantine_text
from agentbench.runs.store.store import RunStore
from agentbench.scoring.classification import Failure
from agentbench.tasks.loading import PROOF_FILE, TASK_FILE, read_draft
from agentbench.tasks.mirror import tree_digest
from agentbench.taxonomy import FailureReason, StageName
from agentbench.validation.quality_page import quality_facts
from agentbench.validation.stored_proof import read_proof
from agentbench.validation.task_quality import quality_of_entry

# Independent of the record, which could name any file.
_PATCH_FILE = "patch.diff"


def attempt_values(context: PageContext, request: Request) -> TemplateValues:
    """The values of the page of one attempt.

    Raises:
        PageNotFoundError: there is no such attempt.
    """
    run = context.run(request)
    task, name = request.path_params["task"], request.path_params["name"]
    number = run.numbers.get(f"{task}/{name}")
    records = (each for each in run.reading.summaries if each.task_id == task)
    common = {
        "run": run,
        "task": task,
        "name": name,
        "tries": sorted({each.folder_name.partition("/")[2] for each in records}, key=_by_number),
        "query": f"?{request.url.query}" if request.url.query else "",
        "neighbours": _neighbours(run, f"{task}/{name}"),
        "configuration": run.overview.configuration,
        "problem": None,  # known by the record
    }
    if number is None:
        return {**common, **_without_record(context, run, request)}
    try:
        (record,) = run.reading.records([number])
    except (InputError, OSError) as error:
        raise PageNotFoundError(f"The record of this attempt cannot be read: {error}") from None
    return {
        **common,
        **_with_record(context, record, request),
        **_task_values(run, record),
        "work": _work(run, record),
    }


def _task_values(run: LiveRun, record: AttemptRecord) -> dict[str, object]:
    """What is known of the tests of the task, from its proof of the same files."""
    configuration = run.overview.configuration
    entries = configuration.tasks if configuration is not None else ()
    entry = next((each for each in entries if each.id == record.task_id), None)
    if entry is None or entry.digest != record.task_digest:
        return {"quality": None, "quality_facts": (), "problem": None}
    proof = read_proof(Path(entry.folder), digest=entry.digest)
    return {
        "problem": _problem(Path(entry.folder), record.task_digest),
        "quality": quality_of_entry(entry),
        "quality_facts": quality_facts(proof) if proof is not None else (),
    }


def _problem(folder: Path, digest: str) -> tuple[str, str] | None:
    """The title and the bug report of a task; None if its folder is gone or was changed."""
    # run.json may name any path, so nothing is read of a folder without a task.
    try:
        if not (folder.is_absolute() and (folder / TASK_FILE).is_file()):
            return None
        if tree_digest(folder, without={PROOF_FILE}) != digest:
            return None
        draft = read_draft(folder)
    except (AgentbenchError, OSError, ValueError):
        return None
    return (draft.table.title, draft.instruction) if draft.table is not None else None


def _neighbours(run: LiveRun, own: str) -> tuple[str | None, str | None]:
    """The folders of the attempts before and after this one, in the order of the run's page."""
    latest = [run.reading.summaries[number] for number in run.latest]
    latest.sort(key=lambda each: (each.task_id, each.attempt))
    names = [each.folder_name for each in latest]
    if own not in names:  # it runs, or was tried again
        return None, None
    at = names.index(own)
    return names[at - 1] if at else None, names[at + 1] if at + 1 < len(names) else None


def _work(run: LiveRun, record: AttemptRecord) -> list[str]:
    """Sentences about the agent's work; none without the extension that knows them."""
    story = offers(Slot.BEHAVIOUR).get("story")
    if story is None:
        return []
    try:
        opened = RunFolder.with_one(RunStore(run.folder), record)
        lines = list(story.load()(opened, usable_cache_dir()))
    except (AgentbenchError, OSError):  # the page is more than its story
        return []
    return [line.strip() for line in lines[1:]]  # the first is its heading


def _with_record(
    context: PageContext, record: AttemptRecord, request: Request
) -> dict[str, object]:
    query, files = request.query_params, context.folder
    try:
        folder = context.attempt_folder(request)
    except PageNotFoundError:
        # The folder is missing, or a link. The record alone still makes a page, and no file has
        # a name with a NUL.
        folder = files.root / "\0"
    stored = AttemptFiles(open=lambda name: files.find_file(folder / name))
    chosen = parse_word(CaseFilter, "tests", query)
    step_page = parse_positive_int("steps-page", query, default=1)
    case_page = parse_positive_int("tests-page", query, default=1)
    transcript = attempt_files.read_transcript_page(files, folder, step_page)
    timeline = attempt_files.read_timeline(files, folder)
    steps = transcript.steps if transcript is not None else ()
    return {
        "record": record,
        "is_live": False,
        "timeline": timeline_table(timeline, record.tests, steps) if timeline is not None else None,
        "verdict": verdict_word(record),
        "cause": (cause := find_cause(record, stored)),
        "cause_facts": cause_facts(cause) if cause is not None else [],
        "decision": explain_decision(record),
        "considered": reason_candidates(record),
        "not_seen": reasons_without_evidence(record),
        "logs": {
            stage.name: attempt_files.read_log_excerpt(files, folder / log_name(stage.name))
            for stage in record.stages
        },
        "cases": select_cases(record.tests, chosen, case_page, resolved=record.resolved),
        "case_filters": list(CaseFilter),
        "patch": attempt_files.read_patch(files, folder / _PATCH_FILE) if record.patch else None,
        "transcript": transcript,
        "files": attempt_files.list_attempt_files(files, folder),
        "tokens": usage_text(record.usage) if record.usage is not None else "",
    }


def _without_record(context: PageContext, run: LiveRun, request: Request) -> dict[str, object]:
    folder = context.attempt_folder(request)
    running = {attempt.folder: attempt for attempt in run.running_attempts()}
    own = running.get(folder.relative_to(run.folder / "attempts").as_posix())
    events = read_events(folder)
    stages = [event.stage for event in events if event.stage is not None]
    log = folder / log_name(stages[-1]) if stages else None
    return {
        "record": None,
        "is_live": own is not None,
        "running": own,
        "events": events,
        "tail": attempt_files.read_tail(context.folder, log) if log is not None else "",
        "last_stage": stages[-1] if stages else None,
        "files": attempt_files.list_attempt_files(context.folder, folder),
    }


def _by_number(name: str) -> tuple[int, int]:
    attempt, _, retry = name.partition(".retry-")
    return int(attempt), int(retry or 0)


class ReasonStatus(StrEnum):
    """Whether a failure's reason became the attempt's."""

    DECIDED = "decided"
    OUTRANKED = "outranked"  # another reason has a lower precedence number
    NOT_TERMINAL = "did not end it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonCandidate:
    """A failure, and its meaning for the attempt's reason."""

    failure: Failure
    status: ReasonStatus
    why: str


def reasons_without_evidence(record: AttemptRecord) -> list[FailureReason]:
    """The reasons without evidence, by precedence."""
    found_reasons = {failure.reason for failure in record.failures}
    return sorted(set(FailureReason) - found_reasons, key=lambda reason: reason.precedence)


def explain_decision(record: AttemptRecord) -> str:
    """The decision in words."""
    if record.resolved:
        return (
            "The final test decides, and it passed: every test that had to be fixed or kept "
            "passed, and no finding is critical."
        )
    if record.quarantined:
        return quarantine_text(record)
    primary = record.failure_reason
    ended_it = {failure.reason for failure in record.failures if failure.terminal}
    lower = sorted(ended_it - {primary}, key=lambda reason: reason.precedence)
    if len(ended_it) < len({failure.reason for failure in record.failures}) and not lower:
        return f"{primary} is the only reason that ended the attempt."
    if primary is None or not lower:
        return f"{primary} is the only reason that a stage's evidence shows."
    names = ", ".join(f"{reason} ({reason.precedence})" for reason in lower)
    return (
        f"{primary} has the lowest precedence number ({primary.precedence}) of the reasons "
        f"that ended the attempt, before {names}."
    )


def reason_candidates(record: AttemptRecord) -> list[ReasonCandidate]:
    """All candidates of an attempt by precedence, including the decided reason."""
    candidates = []
    decided = False
    for failure in sorted(record.failures, key=lambda each: each.reason.precedence):
        if not failure.terminal:
            status = ReasonStatus.NOT_TERMINAL
            why = "the attempt continued after it"
            if failure.stage is StageName.FINAL_TEST:
                why = "a consequence: the agent had crashed"
        elif failure.reason is record.failure_reason and not decided:
            decided, status = True, ReasonStatus.DECIDED
            why = f"the lowest precedence number: {failure.reason.rationale.lower()}"
        else:
            status = ReasonStatus.OUTRANKED
            why = f"{record.failure_reason} has a higher priority"
            if failure.reason is record.failure_reason:
                why = "the same reason, from a later stage"
        candidates.append(ReasonCandidate(failure=failure, status=status, why=why))
    return candidates
