"""A program with many kinds of results and effects; each of its functions has a bug."""

from tests.corpora.unusual.styles import STYLES, Style
from tests.e2e.small_task import SERIAL, SmallTask, patch_of

BUGGY = '''\
"""A small kit: records, reports, files and messages."""

import contextlib
import logging
import os
import warnings
from collections import namedtuple
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path

log = logging.getLogger(__name__)
Point = namedtuple("Point", "x y")


@dataclass
class Item:
    """Something with a price."""

    name: str
    price: int


class Level(IntEnum):
    """How urgent something is."""

    LOW = 1
    HIGH = 2


class Colour(Enum):
    """The colour of a level."""

    GREEN = "green"
    RED = "red"


class KitError(ValueError):
    """A value that the kit refuses."""


def greet(name):
    """Greet on the standard output."""
    print(f"Hello {name}")


def middle(one, other):
    """The point between two points."""
    return one


def parse(line):
    """Read `name: price`."""
    name, price = line.split(":")
    return Item(name, price)


def level(score):
    """The level of a score; above 10 it is high."""
    return Level.LOW


def colour(score):
    """The colour of a score."""
    return Colour.GREEN


def words(text):
    """The different words of a text, in lower case."""
    return text.split(" ")


def mean(numbers):
    """The mean of some numbers."""
    return sum(numbers) // len(numbers)


def encode(text):
    """A text as bytes of UTF-8."""
    return text.encode("ascii", "ignore")


def evens(limit):
    """The even numbers below a limit, one by one."""
    yield from range(limit)


def old(name):
    """Deprecated: write in capitals."""
    return name


def save(path, lines):
    """Write lines to a file."""
    Path(path).write_text("".join(lines))


def home():
    """The folder of the kit: $KIT_HOME, or /."""
    return "/"


def notify(send, names):
    """Send to each of the names, with three retries."""
    send(names)


def report(stock):
    """Log a warning for each name without stock, in order."""
    log.info("stock: %s", stock)


def check(value):
    """The value, unless it is negative."""
    return value


def due(day, weeks):
    """The day so many weeks later."""
    return day + timedelta(weeks)


def taxed(price):
    """A price, as text, with 10 % tax."""
    return Decimal(price)


def find(names, start):
    """The first name with this start, or None."""
    return names[0]


@contextlib.contextmanager
def opened(events):
    """A block between `open` and `close`."""
    events.append("open")
    yield events


async def fetch(number):
    """Twice a number, later."""
    return number


def tree(depth):
    """Nested dicts: a leaf is None."""
    return {"left": None, "right": None}
'''
_CHANGES = {
    'print(f"Hello {name}")': 'print(f"Hello, {name}!")',
    "    return one\n": "    return Point((one[0] + other[0]) / 2, (one[1] + other[1]) / 2)\n",
    "return Item(name, price)": "return Item(name.strip(), int(price))",
    "return Level.LOW": "return Level.HIGH if score > 10 else Level.LOW",
    "return Colour.GREEN": "return Colour.RED if score > 10 else Colour.GREEN",
    'return text.split(" ")': "return set(text.lower().split())",
    "// len(numbers)": "/ len(numbers)",
    'text.encode("ascii", "ignore")': "text.encode()",
    "yield from range(limit)": "yield from range(0, limit, 2)",
    "    return name\n": '    warnings.warn("old is deprecated, use upper", DeprecationWarning, '
    "stacklevel=2)\n    return name.upper()\n",
    '"".join(lines)': '"".join(f"{line}\\n" for line in lines)',
    '    return "/"\n': '    return os.environ.get("KIT_HOME", "/")\n',
    "    send(names)\n": "    for name in names:\n        send(name, retries=3)\n",
    '    log.info("stock: %s", stock)\n': "    for name in sorted(stock):\n"
    '        if not stock[name]:\n            log.warning("no %s left", name)\n',
    "    return value\n": "    if value < 0:\n"
    '        raise KitError(f"{value} is negative")\n    return value\n',
    "timedelta(weeks)": "timedelta(weeks=weeks)",
    "return Decimal(price)": 'return Decimal(price) * Decimal("1.1")',
    "return names[0]": "return next((name for name in names if name.startswith(start)), None)",
    "    yield events\n": "    try:\n        yield events\n    finally:\n"
    '        events.append("close")\n',
    "    return number\n": "    return 2 * number\n",
    '    return {"left": None, "right": None}\n': "    if not depth:\n        return None\n"
    '    return {"left": tree(depth - 1), "right": tree(depth - 1)}\n',
}


def _fixed() -> str:
    text = BUGGY
    for before, after in _CHANGES.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


FIXED = _fixed()
FIX = f"git apply <<'END'\n{patch_of('kit.py', BUGGY, FIXED)}END\n"
"""The reference solution as a command."""
_VISIBLE = """\
import kit


def test_low_scores_are_low():
    assert kit.level(3) == 1


def test_a_positive_value_is_fine():
    assert kit.check(3) == 3
"""


def kit_task(*styles: Style) -> SmallTask:
    """The task whose hidden tests have these styles."""
    heads = dict.fromkeys(line for style in styles for line in style.imports)
    head = "".join(f"{line}\n" for line in (*heads, "import kit"))
    return SmallTask(
        files={"kit.py": BUGGY, "tests/test_kit.py": _VISIBLE, "serial.txt": SERIAL},
        hidden="\n\n".join([head, *(style.tests.strip("\n") + "\n" for style in styles)]),
        fail_to_pass=tuple(f"tests/test_hidden.py::{id_}" for style in styles for id_ in style.ids),
        solution=patch_of("kit.py", BUGGY, FIXED),
        tests=f'pass_to_pass = "baseline"\ncommand = "python -m pytest {_OPTIONS}"'
        if any(style.is_doctest for style in styles)
        else 'pass_to_pass = "baseline"',
    )


_OPTIONS = "--doctest-modules"
EVERY_STYLE = kit_task(*(style for style in STYLES if not style.is_doctest))
