"""The part of a page about the behaviour of agents, which is computed only for those who ask.

Reading the files of 1,000 attempts takes some 25 s, so that each request reads a few attempts and
remembers them. The part asks for itself until all are read: by a link, or by the page's script.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request

from agentbench.extensions.view.queries import BadQueryError
from agentbench.extensions.view.run_cache import LiveRun
from agentbench.extensions.view.run_tags import compare_tags, count_tags, has_tags
from agentbench.extensions.view.runs_folder import PageNotFoundError

_PER_REQUEST = 100  # attempts, some 2.5 s
_MAX_ATTEMPTS = 20_000  # eight minutes, and 15 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourSection:
    """The section, or how far its attempts have been read."""

    here: str  # the address of the page with it
    parts: str  # that of the section alone
    heads: Sequence[str]  # a name for each run
    is_comparison: bool
    attempts: int
    read: int = 0  # of them
    unreadable: int = 0
    rows: Sequence[Any] = ()

    @property
    def is_too_large(self) -> bool:
        return self.attempts > _MAX_ATTEMPTS

    @property
    def is_reading(self) -> bool:
        return not self.is_too_large and self.read < self.attempts


def wants_behaviour(request: Request) -> bool:
    """Whether a page's address asks for the section, and an extension knows it.

    Raises:
        BadQueryError: the parameter is invalid.
    """
    value = request.query_params.get("behaviour", "")
    if value not in {"", "1"}:
        raise BadQueryError(f"behaviour: found {value!r}; expected 1.")
    return bool(value) and has_tags()


def require_behaviour() -> None:
    """Refuse the address of a section that no extension knows.

    Raises:
        PageNotFoundError: none does.
    """
    if not has_tags():
        raise PageNotFoundError("No extension knows the behaviour of agents.")


def behaviour_section(
    runs: Sequence[LiveRun], heads: Sequence[str], *, page: str, query: str, is_comparison: bool
) -> BehaviourSection:
    """The section about some runs, after a few more of their attempts have been read.

    Args:
        runs: The runs; two for a comparison.
        heads: A name for each.
        page: The path of the page that has the section.
        query: The page's query without the parameter for the section.
        is_comparison: Whether to compare two runs, instead of counting in each.
    """
    section = BehaviourSection(
        here=f"{page}?{query}&behaviour=1#behaviour",
        parts=f"{page}/behaviour?{query}",
        heads=heads,
        is_comparison=is_comparison,
        attempts=sum(len(run.latest) for run in runs),
    )
    if section.is_too_large:
        return section
    left = _PER_REQUEST
    for run in runs:
        left -= run.tags.read(run.reading, run.latest, most=left)
    unread = sum(len(run.tags.unread(run.latest)) for run in runs)
    found = [run.tags.of(run.latest) for run in runs]
    rows: Sequence[Any] = ()
    if not unread:
        rows = compare_tags(*found) if is_comparison else count_tags(found)
    return replace(
        section,
        read=section.attempts - unread,
        unreadable=section.attempts - unread - sum(map(len, found)),
        rows=rows,
    )
