"""SVG pictures for a page with a strict policy, with colours by meaning.

The pictures have no inline style and no external references. Each meaning has a distinct colour for
matplotlib. In the SVG, classes replace these colours, and the browser picks light or dark ones for
them. matplotlib gets `label:0`, `label:1` … instead of agents' texts, which it would measure, warn
about, or parse as formulas; the texts are inserted afterwards.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from msgspec import Struct, field

from agentbench.core.display_text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_RUNS = 40
"""The most runs in one picture; more would be unreadable."""
_MAX_LABEL = 34  # characters
_MAX_DESCRIPTION = 600
WIDTH = 720
"""The width of every picture in its units; texts are 11 units high."""
SHARE_TICKS = (0, 0.25, 0.5, 0.75, 1), ("0", "25", "50", "75", "100 %")
"""The ticks of an axis of shares, and their labels."""
_TEXT = 11
_INCH = 72
_LETTER = 6.2  # the mean width of a letter
_PAINTED = ("fill", "stroke")
_ALLOWED_STYLES = frozenset({"text-anchor", "stroke-width", "stroke-dasharray", "stroke-linecap"})
_SHAPES = frozenset({"d", "x", "y", "transform", "points"})
_FRACTION = re.compile(r"\d+\.\d{3,}")
_SIZE = re.compile(r"([\d.]+)px")
_REFERENCE = re.compile(r"url\(#(?P<id>[^)]+)\)")
_LABEL = re.compile(r"label:(\d+)")


class Colour(StrEnum):
    """The meanings of colours, with the names of their classes; faults keep their names."""

    INK = "ink"  # texts
    FAINT = "faint"  # axes and their texts
    GRID = "grid"
    RESOLVED = "resolved"
    AGENT = "agent"
    TASK = "task"
    INFRASTRUCTURE = "infrastructure"
    JUDGED = "judged"  # the second rate
    PAPER = "paper"  # the background, and texts on a colour

    @property
    def code(self) -> str:
        """Its colour in matplotlib."""
        return f"#0000{list(Colour).index(self) + 1:02x}"


COLOUR_BY_CODE = {colour.code: colour for colour in Colour}
"""The meaning of each code."""

HATCHES = {
    Colour.RESOLVED: "",
    Colour.AGENT: "///",
    Colour.TASK: "|||",
    Colour.INFRASTRUCTURE: "xxx",
}
"""The hatches that distinguish areas without colour."""

COLOUR_NAMES = {
    Colour.RESOLVED: "resolved",
    Colour.AGENT: "failed, fault of the agent",
    Colour.TASK: "failed, fault of the task",
    Colour.INFRASTRUCTURE: "failed, fault of the infrastructure",
}
"""The texts of legends."""


class Picture(Struct, frozen=True, kw_only=True):
    """A figure of the page, with its numbers as a table."""

    name: str
    title: str
    svg: str  # empty if there is nothing to draw
    note: str  # explains how to read it
    header: Sequence[str]
    rows: Sequence[Sequence[str]]  # the same numbers
    legend: Mapping[Colour, str] = field(default_factory=dict)


def short(text: str) -> str:
    """A run's label, shortened to fit next to its row."""
    return printable(text, limit=_MAX_LABEL)


def brief(text: str) -> str:
    """A description for people who do not see a picture; its table has the details."""
    return printable(text, limit=_MAX_DESCRIPTION)


def omitted_runs_note(count: int) -> str:
    """A note if a picture of some runs omits the last ones; else empty."""
    if count <= MAX_RUNS:
        return ""
    return f" The picture shows the first {MAX_RUNS} of {count} runs; the table has all."


class Margins(Struct, frozen=True, kw_only=True):
    """The margins around the axes, in a picture's units."""

    left: float = 60
    right: float = 20
    top: float = 10
    bottom: float = 42


def label_width(texts: Sequence[str]) -> float:
    """The width of the longest label, as a share of the picture's width."""
    return 16 + _LETTER * max(map(len, texts), default=0)


@contextmanager
def new_drawing(height: float, sides: Margins) -> "Iterator[tuple[Figure, Axes]]":
    """An empty picture with axes, independent of the user's own settings."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_style())
        figure = Figure(figsize=(WIDTH / _INCH, height / _INCH), dpi=_INCH)
        FigureCanvasSVG(figure)
        figure.subplots_adjust(
            left=sides.left / WIDTH,
            right=1 - sides.right / WIDTH,
            top=1 - sides.top / height,
            bottom=sides.bottom / height,
        )
        yield figure, figure.add_subplot()


def set_run_rows(axes: "Axes", count: int, *, shares: str) -> None:
    """Give each run a row with its label, the first one at the top; `shares` is the x axis."""
    axes.set_xlim(0, 1)
    axes.set_xticks(*SHARE_TICKS)
    axes.set_xlabel(shares)
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_yticks(range(count), [f"label:{row}" for row in range(count)])
    axes.tick_params(axis="y", length=0)


def _style() -> dict[Any, object]:
    faint, ink = Colour.FAINT.code, Colour.INK.code
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": "agentbench",
        "text.parse_math": False,
        "font.size": _TEXT,
        "axes.labelsize": _TEXT,
        "xtick.labelsize": _TEXT,
        "ytick.labelsize": _TEXT,
        "legend.fontsize": _TEXT,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
        "axes.edgecolor": faint,
        "axes.labelcolor": ink,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "text.color": ink,
        "xtick.color": faint,
        "ytick.color": faint,
        "xtick.labelcolor": ink,
        "ytick.labelcolor": ink,
        "grid.color": Colour.GRID.code,
        "legend.frameon": False,
        "patch.edgecolor": Colour.PAPER.code,
        "hatch.color": Colour.PAPER.code,
        "hatch.linewidth": 0.8,
    }


def svg(figure: "Figure", *, name: str, says: str, texts: Sequence[str] = ()) -> str:
    """A picture as the element of a page, with a unique name.

    Args:
        figure: The picture.
        name: A unique name on the page.
        says: A description for people who do not see it.
        texts: The texts for `label:0`, `label:1` …
    """
    target = io.StringIO()
    figure.savefig(target, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(target.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in {"metadata", "style"}:
                parent.remove(child)
    referenced_ids = _referenced(root)
    for element in root.iter():
        _clean(element, name, referenced_ids)
        if element.text is not None:
            element.text = _LABEL.sub(lambda found: texts[int(found[1])], element.text)
    box = root.attrib["viewBox"]
    root.attrib = {"viewBox": box, "role": "img", "aria-label": says}
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _referenced(root: ElementTree.Element) -> frozenset[str]:
    values = [value for element in root.iter() for value in element.attrib.values()]
    links = {value[1:] for value in values if value.startswith("#")}
    return frozenset(links.union(*map(_REFERENCE.findall, values)))


def _clean(element: ElementTree.Element, name: str, referenced_ids: frozenset[str]) -> None:
    """Replace styles by attributes and colours by classes, and prefix ids with the name."""
    attributes = {_local(key): value for key, value in element.attrib.items()}
    attributes |= dict(_styled(attributes.pop("style", "")))
    classes = []
    for part in _PAINTED:
        colour = COLOUR_BY_CODE.get(attributes.get(part, ""))
        if colour is not None:
            del attributes[part]
            classes.append(f"{part}-{colour}")
    if attributes.get("id") in referenced_ids:
        attributes["id"] = f"{name}-{attributes['id']}"
    else:
        attributes.pop("id", None)
    if attributes.get("href", "").startswith("#"):
        attributes["href"] = f"#{name}-{attributes['href'][1:]}"
    for shape in _SHAPES & attributes.keys():  # two decimals are enough
        attributes[shape] = _FRACTION.sub(lambda found: f"{float(found[0]):.2f}", attributes[shape])
    if classes:
        attributes["class"] = " ".join(classes)
    element.tag = _local(element.tag)
    element.attrib = {
        key: _REFERENCE.sub(lambda found: f"url(#{name}-{found['id']})", value)
        for key, value in attributes.items()
    }


def _styled(style: str) -> Iterator[tuple[str, str]]:
    """The declarations of a style as attributes, without fonts."""
    for declaration in filter(None, (each.strip() for each in style.split(";"))):
        key, value = (part.strip() for part in declaration.split(":", 1))
        size = _SIZE.search(value) if key in {"font", "font-size"} else None
        if size is not None:
            yield "font-size", size[1]
        elif key in _PAINTED or key in _ALLOWED_STYLES:
            yield key, value
