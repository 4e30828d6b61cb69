"""Renders templates to pages, with the context of every page.

All values in templates are printable and escaped automatically: `finalize` makes control characters
and text direction marks visible, and autoescaping turns markup into text. Only Markup is exempt,
and only this package creates it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from agentbench.core.display_text import counted, printable
from agentbench.extensions.view.run_cache import LiveRun, RunCache
from agentbench.extensions.view.runs_folder import RunsFolder
from agentbench.models.trajectory import ToolCall
from agentbench.report.formatting import p_value, percent

# The extra `view` may be missing: `report --format html` saves a page, and needs no server.
if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import HTMLResponse

TemplateValues = Mapping[str, object]

_MINUTE, _HOUR = 60, 3600
_BUFFERED_CHUNKS = 64  # chunks of a template that are joined
_MAX_EXCERPT = 20_000  # characters
MAX_WARNINGS = 20  # on a page


def render_page(template: str, **values: object) -> str:
    """The text of a rendered template."""
    return _environment().get_template(template).render(**values)


def page_chunks(template: str, **values: object) -> Iterator[str]:
    """The text of a rendered template, in pieces."""
    stream = _environment().get_template(template).stream(**values)
    stream.enable_buffering(_BUFFERED_CHUNKS)
    yield from stream


def run_address(run: str) -> str:
    """The address of a run's page."""
    return f"/runs/{quote(run, safe='')}"


def task_address(run: str, task: str) -> str:
    """The address of a run's attempts at a task."""
    return f"{run_address(run)}?task={quote(task, safe='')}"


def attempt_address(run: str, attempt_folder: str) -> str:
    """The address of an attempt's page; `attempt_folder` is its folder in attempts/."""
    task, _, name = attempt_folder.partition("/")
    return f"{run_address(run)}/attempts/{quote(task, safe='')}/{quote(name, safe='')}"


def seconds(number: float) -> str:
    """A duration for people."""
    if number < 1:
        return f"{number:.2f} s"
    if number < _MINUTE:
        return f"{number:.1f} s"
    if number < _HOUR:
        return f"{number // _MINUTE:.0f} min {number % _MINUTE:02.0f} s"
    return f"{number // _HOUR:.0f} h {number % _HOUR // _MINUTE:02.0f} min"


def size(number: float) -> str:
    """A size for people."""
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"


def moment(at: datetime) -> str:
    """A time of day, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def since(at: datetime) -> str:
    """The age of a time for people."""
    return seconds(max(0.0, (datetime.now(UTC) - at).total_seconds()))


def money(dollars: float | None) -> str:
    """An amount of money."""
    return "unknown" if dollars is None else f"${dollars:.2f}"


@cache
def _environment() -> Environment:
    # Agents wrote many of the values. Nothing of theirs becomes markup, and no control character
    # or text direction mark is invisible.
    environment = Environment(
        loader=PackageLoader("agentbench.extensions.view"),
        autoescape=True,
        finalize=_printable_value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters = (
        seconds,
        size,
        moment,
        since,
        percent,
        p_value,
        money,
        word,
        counted,
        excerpt,
        call_line,
    )
    environment.filters.update({each.__name__: each for each in filters})
    environment.globals.update(run_address=run_address, attempt_address=attempt_address)
    return environment


def word(name: str) -> str:
    """An identifier as words: `timed_out` becomes `timed out`."""
    return name.replace("_", " ")


def excerpt(value: object) -> str:
    """A value as text, without the end of a very long one."""
    text = value if isinstance(value, str) else repr(value)
    if len(text) <= _MAX_EXCERPT:
        return text
    return f"{text[:_MAX_EXCERPT]}\n… {len(text) - _MAX_EXCERPT} more characters"


def call_line(call: ToolCall) -> str:
    """A tool call in one line."""
    arguments = ", ".join(
        f"{key}={value!r:.80}" if isinstance(value, str) else f"{key}={value!r}"
        for key, value in islice(call.arguments.items(), 6)
    )
    return printable(f"{call.function_name}({arguments})", limit=160)


def _printable_value(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value, newlines=True)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """The folder of runs, and the cache of read runs."""

    folder: RunsFolder
    cache: RunCache

    def run(self, request: "Request") -> LiveRun:
        """The run in an address.

        Raises:
            PageNotFoundError: it does not exist.
            InputError: its records are of a newer agentbench.
        """
        return self.cache.run(self.folder.run(request.path_params["run"]))

    def attempt_folder(self, request: "Request") -> Path:
        """The folder of the attempt in an address.

        Raises:
            PageNotFoundError: it does not exist.
        """
        names = request.path_params
        return self.folder.attempt(self.folder.run(names["run"]), names["task"], names["name"])


def html_response(template: str, values: TemplateValues, status: int = 200) -> "HTMLResponse":
    """A page as an HTTP answer."""
    from starlette.responses import HTMLResponse

    return HTMLResponse(render_page(template, **values), status)
