"""Two runs side by side: is one better, is that significant, and which tasks turned."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from agentbench.errors import InputError
from agentbench.report.comparison import Flip, compare
from agentbench.report.significance import statement
from agentbench.view.pages import attempt_address
from agentbench.view.room import Room, html
from agentbench.view.shelf import RunNow

_OFFERED = 200  # runs to choose from
_LISTED = 500  # flips of one kind, and tasks of one run alone


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFlip:
    """A task that turned, with where its attempts are."""

    flip: Flip
    first: tuple[tuple[str, str], ...]  # the attempt's name and address
    second: tuple[tuple[str, str], ...]


def compare_page(room: Room, request: Request) -> Response:
    """The whole page; without two runs a form to choose them.

    Raises:
        NotThereError: there is no such run.
    """
    names = [request.query_params.get(name, "") for name in ("first", "second")]
    folders = sorted(room.folder.runs(), key=room.shelf.began, reverse=True)
    values: dict[str, object] = {
        "names": names,
        "offered": [folder.name for folder in folders[:_OFFERED]],
        "comparison": None,
        "problem": "",
    }
    if not all(names):
        return html("compare.html", values)
    runs = [room.shelf.run(room.folder.run(name)) for name in names]
    try:
        values |= _compared(*runs)
    except InputError as error:  # they share no task
        values["problem"] = str(error)
    return html("compare.html", values)


def _compared(first: RunNow, second: RunNow) -> dict[str, object]:
    comparison = compare(first.headlines, second.headlines)
    return {
        "first": first,
        "second": second,
        "comparison": comparison,
        "overall": statement(comparison.overall),
        "judged": statement(comparison.judged) if comparison.judged is not None else None,
        "gained": _shown(comparison.gained, first, second),
        "lost": _shown(comparison.lost, first, second),
        "listed": _LISTED,
    }


def _shown(flips: tuple[Flip, ...], first: RunNow, second: RunNow) -> list[ShownFlip]:
    shown = flips[:_LISTED]
    links = [_links(run, {flip.task_id for flip in shown}) for run in (first, second)]
    return [
        ShownFlip(
            flip=flip,
            first=tuple(links[0].get(flip.task_id, ())),
            second=tuple(links[1].get(flip.task_id, ())),
        )
        for flip in shown
    ]


def _links(run: RunNow, tasks: set[str]) -> dict[str, list[tuple[str, str]]]:
    links: dict[str, list[tuple[str, str]]] = {}
    for told in run.headlines:
        if told.task_id in tasks:
            name = told.place.partition("/")[2]
            address = attempt_address(run.name, told.place)
            links.setdefault(told.task_id, []).append((name, address))
    return links
