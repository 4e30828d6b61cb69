"""Histories of agents' work, each with the commands that solve the task and that lose it again.

The numbers follow from what the commands do. A state that an agent without a model leaves behind
has to be there for a pause to be noted; its commands are further apart than two scans.
"""

import textwrap
from dataclasses import dataclass
from enum import StrEnum
from typing import TypedDict, Unpack

from tests.attempt.timeline.corpora.shop_task import (
    BREAK,
    CHEAPEST,
    COUNTED,
    EXECUTED,
    LISTED_GOODS,
    LOOK,
    MEND,
    NOTES,
    UNFIX,
    note,
)
from tests.e2e.small_task import FIX, PARTIAL_FIX


class AgentKind(StrEnum):
    """How the agent works, and with that when its states are noted."""

    MODEL = "model"  # at each request
    PYTHON = "python"  # between two commands
    SHELL = "shell"  # in pauses


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The commands of an agent, and what the timeline has to say about them."""

    name: str
    lines: tuple[str, ...]
    solved: int | None
    """The number of the command that solved the task first, counted from 1; None: none did."""

    lost: int | None = None
    """The number of the first command after it that lost this."""

    resolved: bool
    broke: tuple[str, ...] | None = None
    """The tests that `lost` broke; None: not checked."""

    kind: AgentKind = AgentKind.MODEL
    setup: str = ""
    notes: tuple[str, ...] = ()
    """Words of the remarks about what is missing."""

    in_gate: bool = False


def python(text: str) -> str:
    """A command that runs Python code."""
    return f"python3 - <<'EOF'\n{textwrap.dedent(text).strip()}\nEOF"


class More(TypedDict, total=False):
    """What few histories have; `History` says what the keys mean."""

    broke: tuple[str, ...]
    kind: AgentKind
    setup: str
    notes: tuple[str, ...]
    in_gate: bool


def kept(name: str, solved: int, *lines: str, **more: Unpack[More]) -> History:
    """A history that ends solved."""
    return History(name=name, lines=lines, solved=solved, resolved=True, **more)


def lost(name: str, solved: int, lost: int, *lines: str, **more: Unpack[More]) -> History:
    """A history that ends unsolved."""
    return History(name=name, lines=lines, solved=solved, lost=lost, resolved=False, **more)


def found(name: str, solved: int, lost: int, *lines: str, **more: Unpack[More]) -> History:
    """A history that was lost, and ends solved."""
    return History(name=name, lines=lines, solved=solved, lost=lost, resolved=True, **more)


def never(name: str, *lines: str, **more: Unpack[More]) -> History:
    """A history that was never solved."""
    return History(name=name, lines=lines, solved=None, resolved=False, **more)


_IN_PLACE = python("""
    import os
    facts = os.stat("basket.py")
    with open("basket.py", "r+") as file:
        text = file.read()
        file.seek(0)
        file.write(text.replace("min", "max"))
    os.utime("basket.py", ns=(facts.st_atime_ns, facts.st_mtime_ns))
""")
_SPECIAL = python("""
    import os, socket, stat
    os.mkfifo("pipe")
    socket.socket(socket.AF_UNIX).bind("socket")
    try:
        os.mknod("null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pass
""")
_ODD_NAMES = python("""
    names = ["größe.py", "two\\nlines.py", "turned\\u202ename.py", b"not\\xffutf8.py", "-rf", " "]
    for name in names:
        with open(name, "w") as file:
            file.write("X = 1\\n")
""")
_STASH = "git -c user.name=a -c user.email=a@example.org stash"
_DAEMON = "(while :; do date +%N > {}; sleep 0.05; done) &"
_COPIES = "mkdir copies; for n in $(seq 1500); do echo $n > copies/$n.txt; done"

# fmt: off
MODEL = (
    kept("solved early and kept", 1, FIX, LOOK, *NOTES, in_gate=True),
    kept("solved late", 7, *NOTES, FIX),
    kept("solved in two steps", 3, PARTIAL_FIX, LOOK, "git checkout -q basket.py; " + FIX, LOOK),
    never("never solved", PARTIAL_FIX, LOOK, note("a"), BREAK),
    lost("lost", 2, 4, LOOK, FIX, LOOK, BREAK, LOOK, broke=(CHEAPEST,)),
    found("lost and found again", 2, 3, LOOK, FIX, BREAK, LOOK, MEND, in_gate=True),
    lost("lost twice", 1, 2, FIX, BREAK, MEND, note("a"), UNFIX, broke=(CHEAPEST,)),
    lost(
        "another test broken", 1, 4,
        FIX, LOOK, note("a"), "sed -i 's/len/max/' shop/cart.py", LOOK, broke=(COUNTED,),
    ),
    lost(
        "among many states", 9, 21, *(note(f"{n}") for n in range(8)), FIX,
        *(note(f"{n}") for n in range(11)), BREAK, *(note(f"{n}") for n in range(8)),
        broke=(CHEAPEST,),
    ),
    lost(
        "edits by parallel processes", 1, 2,
        f"for n in $(seq 20); do echo $n >> a.txt; done & for n in $(seq 20); do echo $n >> b.txt; "
        f"done & {FIX}; wait",
        f"{BREAK} & sed -i 's/len/max/' shop/cart.py & wait", broke=(CHEAPEST, COUNTED),
    ),
    found(
        "file moved away and back", 1, 2, FIX, "mv basket.py moved.py", "mv moved.py basket.py",
        in_gate=True,
    ),
    found(
        "folder moved away and back", 1, 2, FIX, "mv shop store", "mv store shop"
    ),
    found(
        "folders swapped and back", 1, 3,
        FIX, "cp -a shop other; sed -i 's/len/max/' other/cart.py",
        "mv shop third; mv other shop", "mv shop other; mv third shop", broke=(COUNTED,),
    ),
    found("file deleted and restored", 1, 2, FIX, "mv basket.py /tmp", "mv /tmp/basket.py ."),
    found(
        "executable bit", 1, 2, FIX, "chmod a-x run.sh", "chmod a+x run.sh", broke=(EXECUTED,)
    ),
    kept(
        "symlink in place of a file as before", 1,
        FIX, "mv shop/cart.py shop/real.py; ln -s real.py shop/cart.py", LOOK,
    ),
    found(
        "symlink in place of the fixed file", 1, 2,
        FIX, "mv basket.py real.py; ln -s real.py basket.py", "rm basket.py; mv real.py basket.py",
        broke=("tests/test_hidden.py::test_every_price_counts",
               "tests/test_hidden.py::test_one_price_is_the_total"),
        in_gate=True,
    ),
    found(
        "file replaced by a folder", 1, 2,
        FIX, "rm data/goods.txt; mkdir data/goods.txt; echo fig > data/goods.txt/fig",
        "rm -r data/goods.txt; echo fig > data/goods.txt", broke=(LISTED_GOODS,),
    ),
    found(
        "folder replaced by a file", 1, 2,
        FIX, "mv data /tmp/data; echo fig > data", "rm data; mv /tmp/data data",
        broke=(LISTED_GOODS,),
    ),
    kept(
        "package replaced by a module", 1,
        FIX, "rm -r shop; printf 'class cart:\\n    count = len\\n' > shop.py", LOOK,
    ),
    found("stashed and popped", 1, 2, FIX, _STASH, "git stash pop"),
    found("taken back by git checkout", 1, 2, FIX, "git checkout -q -- basket.py", FIX),
    lost(
        "time of modification faked", 1, 2,
        FIX, f"cp -p basket.py /tmp/old; {BREAK}; touch -r /tmp/old basket.py", LOOK,
        broke=(CHEAPEST,),
    ),
    lost("same file, size and time", 1, 2, FIX, _IN_PLACE, LOOK, broke=(CHEAPEST,), in_gate=True),
    lost(
        "huge file beside the fix", 1, 3,
        f"{FIX}; head -c 3000000 /dev/zero > big.bin", LOOK, BREAK,
        broke=(CHEAPEST,), notes=("big.bin",),
    ),
    lost("special files beside the fix", 1, 2, f"{FIX}\n{_SPECIAL}", BREAK, broke=(CHEAPEST,)),
    kept("FIFO in place of a file as before", 1, FIX, "rm shop/cart.py; mkfifo shop/cart.py", LOOK),
    lost("unusual names", 2, 3, _ODD_NAMES, FIX, BREAK, broke=(CHEAPEST,)),
    lost(
        "several files in one state", 1, 2,
        f"{FIX}; echo a > a.txt; echo b > shop/b.py; rm serial.txt; mkdir c; echo c > c/c.txt",
        f"{BREAK}; rm a.txt shop/b.py; echo pear > data/goods.txt", broke=(CHEAPEST, LISTED_GOODS),
    ),
    lost(
        "edits outside the workspace", 2, 3,
        f"cp -r . /tmp/copy; cd /tmp/copy; {FIX}", "cp /tmp/copy/basket.py .", BREAK,
        broke=(CHEAPEST,),
    ),
    lost(
        "thousands of files for a while", 1, 4,
        FIX, _COPIES, "rm -r copies", BREAK, broke=(CHEAPEST,), notes=("too many files",),
    ),
    lost(
        "all of many files touched", 1, 2,
        f"chmod -R g+w,o+r .; {FIX}", BREAK, LOOK, broke=(CHEAPEST,),
        setup="mkdir large; for n in $(seq 40); do head -c 1000000 /dev/urandom > large/$n; done",
    ),
    lost(
        "tree of 50,000 files", 2, 4, LOOK, FIX, LOOK, BREAK, LOOK, broke=(CHEAPEST,),
        setup="for d in $(seq 499); do mkdir -p tree/$d; "
        "(cd tree/$d; seq 100 | xargs -I{} touch {}); done",
    ),
)
PYTHON = (
    found("between commands: lost and found", 2, 4, LOOK, FIX, note("a"), BREAK, MEND,
          kind=AgentKind.PYTHON, in_gate=True),
    kept(
        "between commands: 500 states", 300,
        *(FIX if n == 300 else note(str(n)) for n in range(1, 501)),
        kind=AgentKind.PYTHON, notes=("many states",),
    ),
    never("between commands: fixed within one", LOOK, f"{FIX}; {UNFIX}", note("a"),
          kind=AgentKind.PYTHON),
)
SHELL = (
    lost("pauses: lost", 1, 2, FIX, BREAK, kind=AgentKind.SHELL, broke=(CHEAPEST,)),
    found("pauses: stashed and popped", 1, 2, FIX, _STASH, "git stash pop", kind=AgentKind.SHELL),
    lost("pauses: a daemon writes into the workspace", 2, 3,
         _DAEMON.format("server.log"), FIX, BREAK, kind=AgentKind.SHELL, broke=(CHEAPEST,)),
    lost("pauses: a daemon writes into a cache", 2, 3,
         "mkdir -p .pytest_cache; " + _DAEMON.format(".pytest_cache/now"), FIX, BREAK,
         kind=AgentKind.SHELL, broke=(CHEAPEST,)),
    never("pauses: fixed without a pause", LOOK, f"{FIX}; {UNFIX}", kind=AgentKind.SHELL),
)
# fmt: on
HISTORIES = (*MODEL, *PYTHON, *SHELL)
