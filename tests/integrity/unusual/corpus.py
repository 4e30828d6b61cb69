"""All unusual honest fixes, and those that the gate and Docker try."""

from tests.cheats.honest import Honest
from tests.integrity.unusual import kit, means, values
from tests.integrity.unusual.styles import STYLES

OF_STYLES = [
    Honest(
        name=f"the reference solution, tested by {style.name}",
        line=kit.FIX,
        task=kit.kit_task(style),
        in_docker=style.name == "unittest",
    )
    for style in STYLES
]
FIXES: list[Honest] = [*OF_STYLES, *values.FIXES, *means.FIXES]

_SOAK_ONLY = {
    "a text with an equality that ignores case",  # as a lazy text
    "an ordered dict",  # as a counter
    "a UserDict and a UserList",
    "a defaultdict",
    "a float with a unit",
    "slots and weak references",
    "frozen sets and byte arrays",
    "iterators of itertools",
    "trees that are shared",  # as caches
    "a mutable default as a cache",
    "threads",  # as processes
    "an event loop",
    "slowness",
    "signals",
    "the locale",
    "the memory of C",
    "a database in memory",
    "objects that log their end",
    "a trace that counts calls",  # as frames read for a log
    "a module of another class",  # as one that makes its functions on demand
    "a module and its compiled data",
    "decorators of several kinds",
    "exit stacks and threads around blocks",
    "writing through a temporary file",
    "builtins patched for a moment",
    "a callable object with partial arguments",
    "code made from text",
    "imports on first use",
}
"""Fixes of which the gate tries a like one."""


def in_the_gate() -> list[Honest]:
    """Values of most kinds; the styles are tried together, by each fix of the kit."""
    return [fix for fix in FIXES if fix.name not in _SOAK_ONLY and fix not in OF_STYLES[:-1]]


def in_docker() -> list[Honest]:
    """Those that the gate tries in Docker, too; the soak tries all."""
    return [fix for fix in FIXES if fix.in_docker]
