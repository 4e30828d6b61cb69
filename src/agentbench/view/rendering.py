"""Templates made into pages, and the context that every page is made from.

Whatever is put into a template is printable text, and escaped. No template asks for it: `finalize`
makes control characters and marks that turn text visible in every expression's value, and
autoescaping then makes markup of it into text. What is exempt from both is Markup, which is made in
this package alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from agentbench.core.display_text import printable
from agentbench.view.run_cache import LiveRun, RunCache
from agentbench.view.runs_folder import RunsFolder

if TYPE_CHECKING:
    from agentbench.runs.store.summaries import AttemptSummary


_MINUTE, _HOUR = 60, 3600


def render_page(template: str, **values: object) -> str:
    """A template filled in."""
    return _environment().get_template(template).render(**values)


def run_address(run: str) -> str:
    """Where a run is shown."""
    return f"/runs/{quote(run, safe='')}"


def attempt_address(run: str, place: str) -> str:
    """Where an attempt is shown: `place` is its folder below attempts/."""
    task, _, name = place.partition("/")
    return f"{run_address(run)}/attempts/{quote(task, safe='')}/{quote(name, safe='')}"


def seconds(number: float) -> str:
    """A span of time as people say it."""
    if number < 1:
        return f"{number:.2f} s"
    if number < _MINUTE:
        return f"{number:.1f} s"
    if number < _HOUR:
        return f"{number // _MINUTE:.0f} min {number % _MINUTE:02.0f} s"
    return f"{number // _HOUR:.0f} h {number % _HOUR // _MINUTE:02.0f} min"


def size(number: float) -> str:
    """An amount of bytes as people say it."""
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"


def moment(at: datetime) -> str:
    """A time of day, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def since(at: datetime) -> str:
    """How long ago something was."""
    return seconds(max(0.0, (datetime.now(UTC) - at).total_seconds()))


def percent(share: float) -> str:
    """A share of one."""
    return f"{100 * share:.1f} %"


def money(dollars: float | None) -> str:
    """An amount of money, or that nobody knows it."""
    return "not known" if dollars is None else f"${dollars:.2f}"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("agentbench.view"),
        autoescape=True,
        finalize=_printable_value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters = (seconds, size, moment, since, percent, money, word, counted)
    made.filters.update({one.__name__: one for one in filters})
    made.globals.update(run_address=run_address, attempt_address=attempt_address)
    return made


def word(name: str) -> str:
    """A name out of a program as words: `timed_out` is `timed out`."""
    return name.replace("_", " ")


def counted(number: int, noun: str) -> str:
    """So many of something."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cost_of(attempt: "AttemptSummary") -> str:
    """What an attempt cost; nothing where it used no model."""
    if not attempt.is_metered:
        return ""
    return "?" if attempt.cost_usd is None else f"${attempt.cost_usd:.4f}"


def _printable_value(value: object) -> object:
    """What a page shows of a value: see above."""
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value, newlines=True)
    return value


MAX_WARNINGS = 20
"""That a page tells; of more it tells how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """The folder of runs, and the shelf of what was read."""

    folder: RunsFolder
    cache: RunCache

    def run(self, request: Request) -> LiveRun:
        """The run that an address names.

        Raises:
            NotThereError: there is none.
            InputError: its records are of a newer agentbench.
        """
        return self.cache.run(self.folder.run(request.path_params["run"]))

    def attempt_folder(self, request: Request) -> Path:
        """The folder of the attempt that an address names.

        Raises:
            NotThereError: there is none.
        """
        names = request.path_params
        return self.folder.attempt(self.folder.run(names["run"]), names["task"], names["name"])


def html_response(template: str, values: Mapping[str, object], status: int = 200) -> HTMLResponse:
    """A page as an answer."""
    return HTMLResponse(render_page(template, **values), status)
