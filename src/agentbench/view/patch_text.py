"""A patch in colour: marked up by classes, as no page may bear styles of its own."""

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import DiffLexer

from agentbench.report.harmless import harmless
from agentbench.view.places import NotThereError, RunsFolder

_MOST = 256 * 1024  # bytes that a page shows
_LONGEST_LINE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchText:
    """What is shown of a patch."""

    markup: Markup
    left_out: int  # bytes


def read_patch(folder: RunsFolder, path: Path) -> PatchText | None:
    """A patch as a page shows it; None where there is none."""
    try:
        file = folder.opened(path)
    except NotThereError:
        return None
    with file:
        content = file.read(_MOST)
        left_out = file.seek(0, 2) - len(content)
    lines = content.decode("utf-8", "replace").split("\n")
    text = "\n".join(harmless(line, limit=_LONGEST_LINE, newlines=True) for line in lines)
    return PatchText(markup=in_colour(text), left_out=left_out)


def in_colour(text: str) -> Markup:
    """A patch's text as markup; pygments escapes it."""
    formatter = HtmlFormatter(nowrap=True, classprefix="hl-")
    return Markup(highlight(text, DiffLexer(stripnl=False), formatter))
