"""The page of one attempt: its verdict and the reason, its stages, its change, its steps."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from agentbench.attempt.logs import read_events
from agentbench.attempt.record import AttemptRecord, UsageRecord
from agentbench.errors import InputError
from agentbench.report.attempt_rows import verdict_word
from agentbench.scoring.classification import Failure
from agentbench.scoring.taxonomy import FailureReason, StageName
from agentbench.view.attempt_files import (
    log_name,
    read_log_excerpt,
    read_patch,
    read_tail,
    read_transcript_page,
)
from agentbench.view.downloads import list_attempt_files
from agentbench.view.queries import CaseFilter, parse_positive_int, parse_word, select_cases
from agentbench.view.rendering import PageContext, html_response
from agentbench.view.run_cache import LiveRun
from agentbench.view.runs_folder import PageNotFoundError

_PATCH_FILE = "patch.diff"  # independent of the record


class _AttemptAddress(NamedTuple):
    """The address of an attempt page."""

    run: LiveRun
    task: str
    name: str

    @property
    def place(self) -> str:
        return f"{self.task}/{self.name}"


def attempt_page(room: PageContext, request: Request) -> Response:
    """The whole page.

    Raises:
        PageNotFoundError: there is no such attempt.
    """
    return html_response("attempt.html", _values(room, request))


def attempt_parts(room: PageContext, request: Request) -> Response:
    """The parts that change while the attempt runs."""
    return html_response("attempt_parts.html", _values(room, request))


def _values(room: PageContext, request: Request) -> dict[str, object]:
    names = request.path_params
    asked = _AttemptAddress(room.run(request), names["task"], names["name"])
    number = asked.run.numbers.get(asked.place)
    common = {
        "run": asked.run,
        "task": asked.task,
        "name": asked.name,
        "tries": _retry_names(asked),
        "query": f"?{request.url.query}" if request.url.query else "",
    }
    if number is None:
        return {**common, **_without_record(room, asked, request)}
    try:
        (record,) = asked.run.reading.records([number])
    except (InputError, OSError) as error:
        raise PageNotFoundError(f"The record of this attempt cannot be read: {error}") from None
    return {**common, **_with_record(room, asked, record, request)}


def _with_record(
    room: PageContext, asked: _AttemptAddress, record: AttemptRecord, request: Request
) -> dict[str, object]:
    query = request.query_params
    folder = _folder_of(room, asked)
    chosen = parse_word(CaseFilter, "tests", query)
    cases = select_cases(record.tests, chosen, parse_positive_int("tests-page", query, default=1))
    steps = parse_positive_int("steps-page", query, default=1)
    return {
        "record": record,
        "is_live": False,
        "verdict": verdict_word(record),
        "decision": explain_decision(record),
        "considered": reason_candidates(record),
        "not_seen": reasons_without_evidence(record),
        "logs": {
            stage.name: read_log_excerpt(room.folder, folder / log_name(stage.name))
            for stage in record.stages
        },
        "cases": cases,
        "case_filters": list(CaseFilter),
        "patch": read_patch(room.folder, folder / _PATCH_FILE) if record.patch else None,
        "transcript": read_transcript_page(room.folder, folder, steps),
        "files": list_attempt_files(room.folder, folder),
        "tokens": _tokens(record.usage),
    }


def _without_record(
    room: PageContext, asked: _AttemptAddress, request: Request
) -> dict[str, object]:
    folder = room.attempt_folder(request)
    going = {one.place: one for one in asked.run.under_way()}
    events = read_events(folder)
    stages = [event.stage for event in events if event.stage is not None]
    tail = read_tail(room.folder, folder / log_name(stages[-1])) if stages else ""
    return {
        "record": None,
        "is_live": asked.place in going,
        "one": going.get(asked.place),
        "events": events,
        "tail": tail,
        "last_stage": stages[-1] if stages else None,
        "files": list_attempt_files(room.folder, folder),
    }


def _folder_of(room: PageContext, asked: _AttemptAddress) -> Path:
    """Its folder; a path that does not exist if it is missing or a link."""
    try:
        return room.folder.attempt(asked.run.folder, asked.task, asked.name)
    except PageNotFoundError:
        return room.folder.root / "\0"


def _retry_names(asked: _AttemptAddress) -> list[str]:
    """The names of all attempts and retries of the task, for links."""
    own = {told.place for told in asked.run.reading.headlines if told.task_id == asked.task}
    return sorted((place.partition("/")[2] for place in own), key=_by_number)


def _by_number(name: str) -> tuple[int, int]:
    attempt, _, retry = name.partition(".retry-")
    return int(attempt), int(retry or 0)


def _tokens(usage: UsageRecord | None) -> str:
    if usage is None:
        return ""
    return (
        f"{usage.requests} requests, {usage.input_tokens} tokens in "
        f"({usage.cached_tokens} cached), {usage.output_tokens} out"
    )


class ReasonStatus(StrEnum):
    """The status of a reason."""

    DECIDED = "decided"
    OUTRANKED = "outranked"  # another reason has a lower precedence number
    NOT_TERMINAL = "did not end it"
    NOT_SEEN = "not seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonCandidate:
    """One reason, and the evidence of the attempt's stages for it."""

    reason: FailureReason
    status: ReasonStatus
    failure: Failure | None  # the candidate, with its stage and detail
    why: str


def reason_candidates(record: AttemptRecord) -> tuple[ReasonCandidate, ...]:
    """All candidates of an attempt by precedence, including the decided reason."""
    return tuple(_reason_candidates(record))


def reasons_without_evidence(record: AttemptRecord) -> tuple[ReasonCandidate, ...]:
    """The reasons without evidence, by precedence."""
    seen = {failure.reason for failure in record.failures}
    others = sorted(set(FailureReason) - seen, key=lambda reason: reason.precedence)
    return tuple(
        ReasonCandidate(
            reason=reason,
            status=ReasonStatus.NOT_SEEN,
            failure=None,
            why="no stage's evidence shows it",
        )
        for reason in others
    )


def explain_decision(record: AttemptRecord) -> str:
    """The decision in words."""
    if record.resolved:
        return (
            "The final test decides, and it passed: every test that had to be fixed or kept "
            "passed, and no finding is critical."
        )
    if record.quarantined:
        return (
            "The final test passed, but the attempt is quarantined: "
            f"{record.detail.removeprefix('quarantined: ')}"
        )
    primary = record.failure_reason
    ended_it = {failure.reason for failure in record.failures if failure.terminal}
    lower = sorted(ended_it - {primary}, key=lambda reason: reason.precedence)
    if len(ended_it) < len({failure.reason for failure in record.failures}) and not lower:
        return f"{primary} is the only reason that ended the attempt."
    if primary is None or not lower:
        return f"{primary} is the only reason that a stage's evidence shows."
    names = ", ".join(f"{reason} ({reason.precedence})" for reason in lower)
    return (
        f"Of the reasons that ended the attempt, {primary} has the lowest precedence number "
        f"({primary.precedence}), before {names}."
    )


def _reason_candidates(record: AttemptRecord) -> Iterator[ReasonCandidate]:
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
        yield ReasonCandidate(reason=failure.reason, status=status, failure=failure, why=why)
