"""Pictures as SVG that a strict page may hold, and their colours by what they mean.

There is no inline style, and no reference but to the picture itself. matplotlib wants a colour, so
that each meaning has one which nobody would choose. In the SVG that it writes they are exchanged
for classes, and the reader's browser picks light or dark ones. Texts of agents are kept from
matplotlib, which would measure them, warn of glyphs, and read some as formulas. It is given
`label(n)` in their place, and they are put in when it is done.
"""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from agentbench.scoring.taxonomy import Fault

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Colour(StrEnum):
    """A colour's meaning, and the name of its class."""

    INK = "ink"  # texts
    FAINT = "faint"  # axes and their texts
    GRID = "grid"
    RESOLVED = "resolved"
    AGENT = "agent"
    TASK = "task"
    INFRASTRUCTURE = "infrastructure"
    JUDGED = "judged"  # the second rate
    PAPER = "paper"  # what lies behind, and texts upon a colour

    @property
    def code(self) -> str:
        """The colour that stands for it in matplotlib."""
        return f"#0000{list(Colour).index(self) + 1:02x}"


COLOUR_BY_CODE = {colour.code: colour for colour in Colour}
"""The meaning of each code."""

COLOUR_OF_FAULT = {
    Fault.AGENT: Colour.AGENT,
    Fault.TASK: Colour.TASK,
    Fault.INFRASTRUCTURE: Colour.INFRASTRUCTURE,
}
"""The colour of each fault."""

HATCHES = {
    Colour.RESOLVED: "",
    Colour.AGENT: "///",
    Colour.TASK: "|||",
    Colour.INFRASTRUCTURE: "xxx",
}
"""How areas are told apart without their colour."""

COLOUR_NAMES = {
    Colour.RESOLVED: "resolved",
    Colour.AGENT: "failed, fault of the agent",
    Colour.TASK: "failed, fault of the task",
    Colour.INFRASTRUCTURE: "failed, fault of the infrastructure",
}
"""What legends say."""


WIDTH = 720
"""Of every picture, in its own units; texts are 11 of them high."""

_TEXT = 11
_INCH = 72
_LETTER = 6.2  # the width of one, about
_PAINTED = ("fill", "stroke")
_ALLOWED_STYLES = frozenset({"text-anchor", "stroke-width", "stroke-dasharray", "stroke-linecap"})
_SHAPES = frozenset({"d", "x", "y", "transform", "points"})
_FRACTION = re.compile(r"\d+\.\d{3,}")
_SIZE = re.compile(r"([\d.]+)px")
_REFERENCE = re.compile(r"url\(#(?P<id>[^)]+)\)")
_LABEL = re.compile(r"label:(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """Room around the axes, in a picture's units."""

    left: float = 60
    right: float = 20
    top: float = 10
    bottom: float = 42


def label(number: int) -> str:
    """What stands in a picture for the text of this number."""
    return f"label:{number}"


def room_for(texts: Sequence[str]) -> float:
    """How much of a picture's width the longest of some labels takes."""
    return 16 + _LETTER * max(map(len, texts), default=0)


@contextmanager
def new_drawing(height: float, sides: Margins) -> "Iterator[tuple[Figure, Axes]]":
    """An empty picture with axes, in our style whatever the user's own settings are."""
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
    """A picture as the element of a page.

    Args:
        figure: It.
        name: One that no other picture of the page has.
        says: For those who do not see it.
        texts: What `label(n)` stands for.
    """
    target = io.StringIO()
    figure.savefig(target, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(target.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in {"metadata", "style"}:
                parent.remove(child)
    wanted = _referenced(root)
    for element in root.iter():
        _clean(element, name, wanted)
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


def _clean(element: ElementTree.Element, name: str, wanted: frozenset[str]) -> None:
    """Exchange style for attributes and colours for classes, and give ids the picture's name."""
    given = {_local(key): value for key, value in element.attrib.items()}
    given |= dict(_styled(given.pop("style", "")))
    classes = []
    for part in _PAINTED:
        colour = COLOUR_BY_CODE.get(given.get(part, ""))
        if colour is not None:
            del given[part]
            classes.append(f"{part}-{colour}")
    if given.get("id") in wanted:
        given["id"] = f"{name}-{given['id']}"
    else:
        given.pop("id", None)
    if given.get("href", "").startswith("#"):
        given["href"] = f"#{name}-{given['href'][1:]}"
    for shape in _SHAPES & given.keys():  # a hundredth of a unit is too little to be seen
        given[shape] = _FRACTION.sub(lambda found: f"{float(found[0]):.2f}", given[shape])
    if classes:
        given["class"] = " ".join(classes)
    element.tag = _local(element.tag)
    element.attrib = {
        key: _REFERENCE.sub(lambda found: f"url(#{name}-{found['id']})", value)
        for key, value in given.items()
    }


def _styled(style: str) -> Iterator[tuple[str, str]]:
    """The declarations of a style that attributes can make as well; the page has its own font."""
    for declaration in filter(None, (each.strip() for each in style.split(";"))):
        key, value = (part.strip() for part in declaration.split(":", 1))
        size = _SIZE.search(value) if key in {"font", "font-size"} else None
        if size is not None:
            yield "font-size", size[1]
        elif key in _PAINTED or key in _ALLOWED_STYLES:
            yield key, value
