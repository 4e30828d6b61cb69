"""One attempt: what became of it and why, its stages, its change, what the agent did."""

from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from agentbench.errors import InputError
from agentbench.report.rows import verdict_word
from agentbench.runs.event_log import read_events
from agentbench.runs.record import AttemptRecord, UsageRecord
from agentbench.view.case_table import CaseFilter, choose_cases
from agentbench.view.decision import considered, in_one_sentence, not_seen
from agentbench.view.files import files_of
from agentbench.view.log_text import log_name, read_log, read_tail
from agentbench.view.patch_text import read_patch
from agentbench.view.places import NotThereError
from agentbench.view.query import member, whole_number
from agentbench.view.room import Room, html
from agentbench.view.shelf import RunNow
from agentbench.view.transcript_steps import read_steps

_PATCH = "patch.diff"  # whatever a record says


class _Address(NamedTuple):
    """What an attempt page is asked for."""

    run: RunNow
    task: str
    name: str

    @property
    def place(self) -> str:
        return f"{self.task}/{self.name}"


def attempt_page(room: Room, request: Request) -> Response:
    """The whole page.

    Raises:
        NotThereError: there is no such attempt.
    """
    return html("attempt.html", _values(room, request))


def attempt_parts(room: Room, request: Request) -> Response:
    """What of it changes while the attempt goes on."""
    return html("attempt_parts.html", _values(room, request))


def _values(room: Room, request: Request) -> dict[str, object]:
    names = request.path_params
    asked = _Address(room.run(request), names["task"], names["name"])
    number = asked.run.numbers.get(asked.place)
    common = {
        "run": asked.run,
        "task": asked.task,
        "name": asked.name,
        "tries": _tries(asked),
        "query": f"?{request.url.query}" if request.url.query else "",
    }
    if number is None:
        return {**common, **_without_record(room, asked, request)}
    try:
        (record,) = asked.run.reading.records([number])
    except (InputError, OSError) as error:
        raise NotThereError(f"The record of this attempt cannot be read: {error}") from None
    return {**common, **_with_record(room, asked, record, request)}


def _with_record(
    room: Room, asked: _Address, record: AttemptRecord, request: Request
) -> dict[str, object]:
    query = request.query_params
    folder = _folder_of(room, asked)
    chosen = member(CaseFilter, "tests", query)
    cases = choose_cases(record.tests, chosen, whole_number("tests-page", query, default=1))
    steps = whole_number("steps-page", query, default=1)
    return {
        "record": record,
        "is_live": False,
        "verdict": verdict_word(record),
        "decision": in_one_sentence(record),
        "considered": considered(record),
        "not_seen": not_seen(record),
        "logs": {
            stage.name: read_log(room.folder, folder / log_name(stage.name))
            for stage in record.stages
        },
        "cases": cases,
        "case_filters": list(CaseFilter),
        "patch": read_patch(room.folder, folder / _PATCH) if record.patch else None,
        "transcript": read_steps(room.folder, folder, steps),
        "files": files_of(room.folder, folder),
        "tokens": _tokens(record.usage),
    }


def _without_record(room: Room, asked: _Address, request: Request) -> dict[str, object]:
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
        "files": files_of(room.folder, folder),
    }


def _folder_of(room: Room, asked: _Address) -> Path:
    """Its folder; where it is gone, or reached by a link, one that is not there."""
    try:
        return room.folder.attempt(asked.run.folder, asked.task, asked.name)
    except NotThereError:
        return room.folder.root / "\0"


def _tries(asked: _Address) -> list[str]:
    """The names of all tries at all attempts at the task, for links."""
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
