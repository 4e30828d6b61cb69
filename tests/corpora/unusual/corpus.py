"""All unusual honest fixes, and those that the gate and Docker try."""

from tests.corpora.cheats.honest import Honest
from tests.corpora.unusual import kit, means, values
from tests.corpora.unusual.more_styles import MORE_STYLES
from tests.corpora.unusual.styles import STYLES

OF_STYLES = [
    Honest(
        name=f"the reference solution, tested by {style.name}",
        line=kit.FIX,
        task=kit.kit_task(style),
    )
    for style in (*MORE_STYLES, *STYLES)
]
FIXES: list[Honest] = [*OF_STYLES, *values.FIXES, *means.FIXES]

_IN_THE_GATE = {
    "a lazy text",
    "a proxy for each result",
    "an array like numpy's",
    "a counter",
    "a list with more methods",
    "fractions",
    "a float that is a bit off",
    "a truth of its own class",
    "an error of two bases with a cause and notes",
    "a named tuple for an order",
    "dataclasses with additional fields",
    "a class with its own equality and repr",
    "numbers for levels",
    "subclasses of set, bytes and tuple",
    "an exception with fields",
    "caches",
    "random order",
    "frames read for a log",
    "processes",
    "noise",
    "gives a mock positions where the reference solution gives keywords",
    "a module that makes its functions on demand",
    "garbage collection and recursion",
    "moves the functions and exports them again",
    "renames a module, a class and a function",
}
"""One fix of each kind; those of the kit are tested by all styles but doctests."""


def in_the_gate() -> list[Honest]:
    """Fixes of most kinds, and the styles that these do not meet; the soak tries all."""
    return [
        fix for fix in FIXES if fix.name in _IN_THE_GATE or fix in (*OF_STYLES[:2], OF_STYLES[-1])
    ]


def in_docker() -> list[Honest]:
    """Those that the gate tries in Docker, too; the soak tries all."""
    return [fix for fix in FIXES if fix.in_docker]
