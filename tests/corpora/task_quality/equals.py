"""Tasks whose tests reject fixes that are right by the report, most with a fair twin."""

from dataclasses import replace

from tests.corpora.task_quality.case import QualityCase, UnfairKind

DEPOSIT = QualityCase(
    name="ledger-negative-deposit",
    kind=UnfairKind.EQUAL,
    unstated="deposit has to be positive",
    reason="the tests compare the wording of a message that the report leaves open",
    files={
        "ledger.py": '''\
"""Accounts with a balance in cents."""


class Account:
    """An account and what happened to it."""

    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
        self.history = []

    def deposit(self, cents):
        """Add to the balance."""
        self.balance += cents
        self.history.append(("deposit", cents))

    def withdraw(self, cents):
        """Take from the balance."""
        if cents > self.balance:
            raise ValueError(f"{self.owner} has {self.balance} cents")
        self.balance -= cents
        self.history.append(("withdraw", cents))
''',
        "tests/test_ledger.py": """\
import pytest

from ledger import Account


def test_deposits_and_withdrawals_are_recorded():
    account = Account("ann", 100)
    account.deposit(50)
    account.withdraw(30)
    assert account.balance == 120
    assert account.history == [("deposit", 50), ("withdraw", 30)]


def test_nobody_can_withdraw_more_than_there_is():
    with pytest.raises(ValueError, match="ann has 0 cents"):
        Account("ann").withdraw(1)
""",
    },
    instruction="""\
# A negative deposit takes money out

```python
account = Account("ann", 100)
account.deposit(-500)
print(account.balance)    # -400
```

One of our importers had the sign wrong, and a few accounts are in the red now although
`withdraw` checks that. `deposit` should raise a `ValueError` for anything that is not above zero,
and neither the balance nor the history should change then.
""",
    fix={
        "ledger.py": (
            (
                "        self.balance += cents\n",
                "        if cents <= 0:\n"
                '            raise ValueError("the amount of a deposit has to be positive")\n'
                "        self.balance += cents\n",
            ),
        )
    },
    hidden={
        "tests/test_ledger.py": """\


def test_a_deposit_is_positive():
    account = Account("ann", 100)
    for cents in (-500, 0):
        with pytest.raises(ValueError, match="deposit has to be positive"):
            account.deposit(cents)
    account.deposit(1)
    assert account.balance == 101
    assert account.history == [("deposit", 1)]
"""
    },
    right={
        "ledger.py": (
            (
                "        self.balance += cents\n",
                "        if not cents > 0:\n"
                '            raise ValueError(f"cannot deposit {cents} cents")\n'
                "        self.balance += cents\n",
            ),
        )
    },
)

SHORTEST = QualityCase(
    name="graph-shortest-path",
    kind=UnfairKind.EQUAL,
    reason="the tests want a list of nodes, a tuple is refused; the report says neither",
    files={
        "graphs.py": '''\
"""Questions about graphs: a mapping from each node to those that follow it."""

from collections import deque


def reachable(graph, start):
    """The set of nodes that can be reached from a node, itself among them."""
    found, waiting = {start}, deque([start])
    while waiting:
        for node in graph.get(waiting.popleft(), ()):
            if node not in found:
                found.add(node)
                waiting.append(node)
    return found


def reversed_graph(graph):
    """The graph with all its edges turned round."""
    result = {node: set() for node in graph}
    for node, followers in graph.items():
        for follower in followers:
            result.setdefault(follower, set()).add(node)
    return result
''',
        "tests/test_graphs.py": """\
import graphs

RING = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}


def test_reachable_nodes():
    assert graphs.reachable(RING, "a") == {"a", "b", "c"}


def test_turned_round():
    assert graphs.reversed_graph({"a": {"b"}}) == {"a": set(), "b": {"a"}}
""",
    },
    instruction="""\
`graphs.reachable` tells me that I can get from A to B, but not how. For our route planner I need
the way itself: `graphs.shortest_path(graph, start, goal)` with all nodes from the start to the
goal, both included, so that there are as few steps as possible. From a node to itself that is the
node alone. If the goal cannot be reached, the result should be `None`.
""",
    fix={
        "graphs.py": (
            (
                "def reversed_graph(graph):",
                '''\
def shortest_path(graph, start, goal):
    """A path with as few steps as possible, or None."""
    paths, waiting = {start: [start]}, deque([start])
    while waiting:
        node = waiting.popleft()
        if node == goal:
            return paths[node]
        for follower in graph.get(node, ()):
            if follower not in paths:
                paths[follower] = [*paths[node], follower]
                waiting.append(follower)
    return None


def reversed_graph(graph):''',
            ),
        )
    },
    hidden={
        "tests/test_paths.py": """\
import graphs

CITY = {"a": {"b", "c"}, "b": {"e"}, "c": {"d"}, "d": {"e"}, "e": {"f"}, "x": {"a"}}


def test_the_shortest_path():
    assert graphs.shortest_path(CITY, "a", "f") == ["a", "b", "e", "f"]
    assert graphs.shortest_path(CITY, "c", "f") == ["c", "d", "e", "f"]


def test_the_path_to_the_start():
    assert graphs.shortest_path(CITY, "c", "c") == ["c"]
    assert graphs.shortest_path(CITY, "new", "new") == ["new"]


def test_no_path():
    assert hasattr(graphs, "shortest_path")
    assert graphs.shortest_path(CITY, "a", "x") is None
"""
    },
    right={
        "graphs.py": (
            (
                "def reversed_graph(graph):",
                '''\
def shortest_path(graph, start, goal):
    """The nodes of a shortest path; None if there is none."""
    layer, known = [(start,)], {start}
    while layer:
        for path in layer:
            if path[-1] == goal:
                return path
        layer = [
            (*path, node)
            for path in layer
            for node in graph.get(path[-1], ())
            if node not in known and not known.add(node)
        ]
    return None


def reversed_graph(graph):''',
            ),
        )
    },
)

UNITS = QualityCase(
    name="units-of-different-kinds",
    kind=UnfairKind.EQUAL,
    unstated="TypeError",
    reason="the tests want a `TypeError`; the report says an error, and nothing tells which",
    files={
        "README.md": """\
# units

Lengths (mm, cm, m, km) and masses (g, kg, t) of what we ship.
""",
        "units.py": '''\
"""Convert lengths and masses."""

_SIZES = {"mm": 0.001, "cm": 0.01, "m": 1, "km": 1000, "g": 0.001, "kg": 1, "t": 1000}
_LENGTHS = {"mm", "cm", "m", "km"}


def is_length(unit):
    """Whether a unit is one of length."""
    return unit in _LENGTHS


def convert(amount, unit, to):
    """An amount in another unit."""
    return amount * _SIZES[unit] / _SIZES[to]


def as_text(amount, unit):
    """An amount with its unit, such as `2.5 kg`."""
    return f"{amount:g} {unit}"


def parsed(text):
    """The amount and the unit in a text such as `2.5 kg`."""
    amount, unit = text.split()
    return float(amount), unit
''',
        "tests/test_units.py": """\
import units


def test_lengths():
    assert units.convert(3, "km", "m") == 3000
    assert units.is_length("cm")


def test_masses():
    assert units.convert(2500, "kg", "t") == 2.5
    assert not units.is_length("g")


def test_amounts_as_text():
    assert units.as_text(2.50, "kg") == "2.5 kg"
    assert units.parsed("2.5 kg") == (2.5, "kg")
""",
    },
    instruction="""\
# Metres become kilograms

    >>> import units
    >>> units.convert(3, "km", "kg")
    3000.0

There is no such thing. Please raise an error when one unit is a length and the other one a mass,
instead of a number that looks fine and goes into our invoices.
""",
    fix={
        "units.py": (
            (
                "    return amount * _SIZES[unit]",
                "    if is_length(unit) != is_length(to):\n"
                '        raise TypeError(f"cannot convert {unit} to {to}")\n'
                "    return amount * _SIZES[unit]",
            ),
        )
    },
    hidden={
        "tests/test_units.py": """\


def test_lengths_are_no_masses():
    for unit, to in (("km", "kg"), ("t", "mm")):
        try:
            units.convert(3, unit, to)
        except TypeError:
            continue
        raise AssertionError(f"{unit} became {to}")
"""
    },
    right={
        "units.py": (
            (
                "    return amount * _SIZES[unit]",
                "    if len(_LENGTHS & {unit, to}) == 1 and unit != to:\n"
                '        raise ValueError(f"{unit} and {to} measure different things")\n'
                "    return amount * _SIZES[unit]",
            ),
        )
    },
)

TABLE = QualityCase(
    name="table-columns-line-up",
    kind=UnfairKind.EQUAL,
    reason="the tests want two spaces between columns; the report asks that they line up",
    files={
        "README.md": """\
# tables

Prints what a query found. Rows are tuples; the first one may hold the names of the columns.

    print(tables.heading("Stock") + tables.render(rows), end="")
""",
        "tables.py": '''\
"""Print rows of a query on a terminal."""


def cell(value):
    """A value as text."""
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def render(rows):
    """The rows as lines."""
    return "".join(" ".join(cell(value) for value in row) + "\\n" for row in rows)


def heading(text):
    """A text with a line below."""
    return f"{text}\\n{'=' * len(text)}\\n"
''',
        "tests/test_tables.py": """\
import tables


def test_values_as_text():
    assert [tables.cell(each) for each in (None, 1.5, 2, "x")] == ["-", "1.50", "2", "x"]


def test_no_rows():
    assert tables.render([]) == ""


def test_headings():
    assert tables.heading("Stock") == "Stock\\n=====\\n"
""",
    },
    instruction="""\
As soon as the values of a column have different lengths, nobody can read the output any more:

```
name qty
apples 3
figs 12
```

The columns should line up on their left, as `ls -l` and all the others do it. No blanks at the
ends of lines, please, our terminal shows them.
""",
    fix={
        "tables.py": (
            (
                '    return "".join(" ".join(cell(value) for value in row) + "\\n" '
                "for row in rows)",
                "    texts = [[cell(value) for value in row] for row in rows]\n"
                "    widths = [max(map(len, column)) for column in zip(*texts)]\n"
                "    padded = [[t.ljust(w) for t, w in zip(row, widths)] for row in texts]\n"
                '    return "".join("  ".join(row).rstrip() + "\\n" for row in padded)',
            ),
        )
    },
    hidden={
        "tests/test_tables.py": """\


def test_columns_line_up():
    rows = [("name", "qty"), ("apples", 3), ("figs", 12)]
    assert tables.render(rows) == "name    qty\\napples  3\\nfigs    12\\n"


def test_lines_end_without_blanks():
    assert tables.render([("a", "bbb"), ("cc", "d")]) == "a   bbb\\ncc  d\\n"
"""
    },
    right={
        "tables.py": (
            (
                '    return "".join(" ".join(cell(value) for value in row) + "\\n" '
                "for row in rows)",
                "    texts = [[cell(value) for value in row] for row in rows]\n"
                "    widths = [max(map(len, column)) for column in zip(*texts)]\n"
                "    lines = []\n"
                "    for row in texts:\n"
                '        line = " ".join(f"{t:<{w}}" for t, w in zip(row, widths))\n'
                '        lines.append(line.rstrip() + "\\n")\n'
                '    return "".join(lines)',
            ),
        )
    },
)

AMOUNT = QualityCase(
    name="amount-with-decimal-comma",
    kind=UnfairKind.EQUAL,
    unstated="_decimal_mark",
    reason="a test calls the private helper `_decimal_mark` of the reference solution",
    files={
        "amounts.py": '''\
"""Read amounts of money from bank statements."""

from decimal import Decimal, InvalidOperation


def read_amount(text):
    """The amount in a text such as 1,234.50."""
    try:
        return Decimal(text.strip().replace(",", ""))
    except InvalidOperation:
        raise ValueError(f"not an amount: {text!r}") from None


def total(lines):
    """The sum of the amounts in some lines."""
    return sum((read_amount(line) for line in lines if line.strip()), Decimal(0))
''',
        "tests/test_amounts.py": """\
from decimal import Decimal

import pytest

import amounts


def test_groups_of_digits():
    assert amounts.read_amount(" 1,234.50 ") == Decimal("1234.50")


def test_other_texts_are_refused():
    with pytest.raises(ValueError, match="not an amount: 'ten'"):
        amounts.read_amount("ten")


def test_total():
    assert amounts.total(["1.50", "", "-0.25"]) == Decimal("1.25")
""",
    },
    instruction="""\
Statements of our German bank have the signs the other way round. They are read without any error
and with a wrong result:

```pycon
>>> from amounts import read_amount
>>> read_amount("1.234,50")
Decimal('1.23450')
```

This has to be `Decimal('1234.50')`. The last one of the two signs is the decimal mark, the other
one divides groups. With a comma alone (`1,234`) nothing should change.
""",
    fix={
        "amounts.py": (
            (
                "def read_amount(text):",
                """\
def _decimal_mark(text):
    marks = [sign for sign in text if sign in ".,"]
    return marks[-1] if "." in marks else "."


def read_amount(text):""",
            ),
            (
                '        return Decimal(text.strip().replace(",", ""))',
                '        groups = "." if _decimal_mark(text) == "," else ","\n'
                '        return Decimal(text.strip().replace(groups, "").replace(",", "."))',
            ),
        )
    },
    hidden={
        "tests/test_amounts.py": """\


def test_the_decimal_mark():
    assert amounts._decimal_mark("1.234,50") == ","
    assert amounts._decimal_mark("1,234.50") == "."
    assert amounts._decimal_mark("1,234") == "."


def test_a_decimal_comma():
    assert amounts.read_amount("1.234,50") == Decimal("1234.50")
    assert amounts.read_amount("1.234.567,50") == Decimal("1234567.50")
    assert amounts.read_amount("1,234") == Decimal("1234")
"""
    },
    right={
        "amounts.py": (
            (
                '        return Decimal(text.strip().replace(",", ""))',
                '        if "." in text and text.index(".") < text.rfind(","):\n'
                '            text = text.translate({ord("."): None, ord(","): "."})\n'
                '        return Decimal(text.strip().replace(",", ""))',
            ),
        )
    },
)

TAGS = QualityCase(
    name="tags-in-any-case",
    kind=UnfairKind.EQUAL,
    reason="a test compares the order of a dict; the report asks for counts alone",
    files={
        "README.md": """\
# tags

The tags of posts. Each post has a line with its tags, which commas divide.
""",
        "tags.py": '''\
"""The tags of a blog's posts."""


def split(line):
    """The tags in a line such as `python, web`."""
    return [tag.strip() for tag in line.split(",") if tag.strip()]


def counts(lines):
    """How many posts have each tag, as a dict."""
    found = {}
    for line in lines:
        for tag in split(line):
            found[tag] = found.get(tag, 0) + 1
    return found


def cloud(found, sizes=5):
    """The size of each tag in a cloud, from 1 to `sizes`."""
    highest = max(found.values(), default=1)
    return {tag: 1 + (sizes - 1) * found[tag] // highest for tag in found}
''',
        "tests/test_tags.py": """\
import tags


def test_tags_of_a_line():
    assert tags.split("python, web,,") == ["python", "web"]


def test_counts():
    assert tags.counts(["web, python", "web"]) == {"python": 1, "web": 2}


def test_sizes_in_a_cloud():
    assert tags.cloud({"python": 4, "web": 1}) == {"python": 5, "web": 2}
""",
    },
    instruction="""\
Half of our authors write `Python`, the other half `python`, and our page of tags has both of
them. Tags that differ in case only should be counted as one, in lower case:

```python
import tags

assert tags.counts(["Python", "python, web"]) == {"python": 2, "web": 1}
```

Today this fails with `{'Python': 1, 'python': 1, 'web': 1}`.
""",
    fix={
        "tags.py": (
            (
                "            found[tag] = found.get(tag, 0) + 1\n    return found",
                "            found[tag.lower()] = found.get(tag.lower(), 0) + 1\n"
                "    return dict(sorted(found.items()))",
            ),
        )
    },
    hidden={
        "tests/test_tags.py": """\


def test_case_does_not_matter():
    found = tags.counts(["Web, Python", "python, WEB", "PYTHON"])
    assert list(found.items()) == [("python", 3), ("web", 2)]
"""
    },
    right={
        "tags.py": (
            (
                "            found[tag] = found.get(tag, 0) + 1\n",
                "            key = tag.lower()\n            found[key] = found.get(key, 0) + 1\n",
            ),
        )
    },
)

SHOP = QualityCase(
    name="shop-bulk-price",
    kind=UnfairKind.EQUAL,
    unstated="discounts",
    reason="the test imports the new module `shop.discounts`; the report asks for `shop` alone",
    files={
        "shop/__init__.py": '''\
"""A small shop."""

from shop.prices import gross, net
from shop.stock import Stock

__all__ = ["Stock", "gross", "net"]
''',
        "shop/prices.py": '''\
"""Prices in cents, with and without tax."""


def gross(cents, percent=19):
    """A price with its tax."""
    return round(cents * (100 + percent) / 100)


def net(cents, percent=19):
    """A price without its tax."""
    return round(cents * 100 / (100 + percent))
''',
        "shop/stock.py": '''\
"""What is in stock."""


class Stock:
    """Numbers of pieces by article."""

    def __init__(self, **pieces):
        self.pieces = pieces

    def take(self, article, count=1):
        """Take pieces out; whether there were enough."""
        enough = self.pieces.get(article, 0) >= count
        if enough:
            self.pieces[article] -= count
        return enough
''',
        "tests/test_shop.py": """\
import shop


def test_names():
    assert all(hasattr(shop, name) for name in shop.__all__)


def test_taxes():
    assert shop.gross(100) == 119
    assert shop.net(119) == 100


def test_stock():
    stock = shop.Stock(nuts=2)
    assert stock.take("nuts", 2)
    assert not stock.take("nuts")
""",
    },
    instruction="""\
From ten pieces on our customers get ten percent off, and every one of our scripts has its own
version of this. The shop should know it: `shop.bulk_price(cents, count)` for the price of so many
pieces in whole cents, rounded as the other prices are.
""",
    fix={
        "shop/discounts.py": '''\
"""Discounts for large orders."""


def bulk_price(cents, count):
    """The price of several pieces; ten or more are cheaper."""
    return round(cents * count * (0.9 if count >= 10 else 1))
''',
        "shop/__init__.py": (
            ("from shop.prices", "from shop.discounts import bulk_price\nfrom shop.prices"),
            ('"Stock", "gross"', '"Stock", "bulk_price", "gross"'),
        ),
    },
    hidden={
        "tests/test_bulk.py": """\
import shop


def test_ten_pieces_are_cheaper():
    from shop.discounts import bulk_price

    assert bulk_price(100, 9) == 900
    assert bulk_price(100, 10) == 900
    assert bulk_price(33, 11) == 327


def test_the_shop_knows_the_price():
    assert shop.bulk_price(5, 2) == 10
"""
    },
    right={
        "shop/prices.py": (
            (
                "def net(cents",
                '''\
def bulk_price(cents, count):
    """The price of several pieces, with ten percent off from ten pieces on."""
    price = cents * count
    return price if count < 10 else round(price * 0.9)


def net(cents''',
            ),
        ),
        "shop/__init__.py": (
            ("import gross, net", "import bulk_price, gross, net"),
            ('"Stock", "gross"', '"Stock", "bulk_price", "gross"'),
        ),
    },
)

ALARMS = QualityCase(
    name="alarms-sent-once",
    kind=UnfairKind.EQUAL,
    reason="a mock wants `urgent` as a keyword; the function takes it by position, too",
    files={
        "alarms.py": '''\
"""Send alarms of a heating."""


def send(text, urgent=False):
    """Send a message to the janitor; an urgent one rings."""
    print(f"{'!' if urgent else '-'} {text}")


class Monitor:
    """Watches a temperature in degrees Celsius."""

    def __init__(self, lowest, send=send):
        self.lowest = lowest
        self.send = send
        self.readings = []

    def read(self, degrees):
        """Take a reading, and send an alarm if it is too cold."""
        self.readings.append(degrees)
        if degrees < self.lowest:
            self.send(f"{degrees} degrees")

    def mean(self):
        """The mean of all readings."""
        return sum(self.readings) / len(self.readings)
''',
        "tests/test_alarms.py": """\
from unittest.mock import Mock

from alarms import Monitor, send


def test_no_alarm_when_it_is_warm():
    monitor = Monitor(5, Mock())
    monitor.read(5)
    monitor.read(8)
    monitor.send.assert_not_called()
    assert monitor.mean() == 6.5


def test_urgent_messages_ring(capsys):
    send("1 degrees", urgent=True)
    send("4 degrees")
    assert capsys.readouterr().out == "! 1 degrees\\n- 4 degrees\\n"
""",
    },
    instruction="""\
Two wishes of our janitor, who got 340 messages in one night:

- An alarm should be sent once when it gets too cold. The next one comes after it was warm enough
  in between, not with each reading.
- Below 0 degrees the message should be an urgent one, as pipes burst.
""",
    fix={
        "alarms.py": (
            (
                "        self.readings = []",
                "        self.readings = []\n        self.is_cold = False",
            ),
            (
                '        if degrees < self.lowest:\n            self.send(f"{degrees} degrees")',
                "        if degrees < self.lowest and not self.is_cold:\n"
                '            self.send(f"{degrees} degrees", urgent=degrees < 0)\n'
                "        self.is_cold = degrees < self.lowest",
            ),
        )
    },
    hidden={
        "tests/test_alarms.py": """\


def test_an_alarm_is_sent_once():
    monitor = Monitor(5, Mock())
    for degrees in (4, 3, 5, 4):
        monitor.read(degrees)
    assert [call.args[0] for call in monitor.send.mock_calls] == ["4 degrees", "4 degrees"]


def test_frost_is_urgent():
    monitor = Monitor(5, Mock())
    monitor.read(-1)
    monitor.send.assert_called_once_with("-1 degrees", urgent=True)
    monitor.read(5)
    monitor.read(0)
    monitor.send.assert_called_with("0 degrees", urgent=False)
"""
    },
    right={
        "alarms.py": (
            (
                "        self.readings.append(degrees)\n"
                "        if degrees < self.lowest:\n"
                '            self.send(f"{degrees} degrees")',
                "        was_cold = bool(self.readings) and self.readings[-1] < self.lowest\n"
                "        self.readings.append(degrees)\n"
                "        if degrees < self.lowest and not was_cold:\n"
                '            self.send(f"{degrees} degrees", degrees < 0)',
            ),
        )
    },
)

CHANGES = QualityCase(
    name="changes-of-an-inventory",
    kind=UnfairKind.EQUAL,
    reason="the tests take the length of the result, a generator is refused; the report goes "
    "through it",
    files={
        "README.md": """\
# inventory

Counts of articles, as a dict from the name of each article to its number of pieces.
""",
        "inventory.py": '''\
"""Compare what is in stock."""


def load(lines):
    """The pieces by article, from lines such as `nuts 12`."""
    found = {}
    for line in lines:
        name, count = line.rsplit(maxsplit=1)
        found[name] = found.get(name, 0) + int(count)
    return found


def missing(stock, order):
    """The articles of an order that are not in stock."""
    return sorted(name for name, count in order.items() if stock.get(name, 0) < count)
''',
        "tests/test_inventory.py": """\
import inventory


def test_lines_add_up():
    assert inventory.load(["nuts 12", "dry figs 3", "nuts 1"]) == {"nuts": 13, "dry figs": 3}


def test_missing_articles():
    assert inventory.missing({"nuts": 2}, {"nuts": 3, "figs": 1}) == ["figs", "nuts"]
""",
    },
    instruction="""\
For the weekly mail I need what changed between two stocks. Please add `inventory.changes`, so that
I can write

```python
for name, before, after in inventory.changes(last_week, today):
    mail.write(f"{name}: {before} -> {after}")
```

Articles in the order of the alphabet, only those whose number changed. One that is missing in a
stock counts as 0 there.
""",
    fix={
        "inventory.py": (
            (
                "def missing(stock, order):",
                '''\
def changes(before, after):
    """The articles whose number changed, with both numbers."""
    return [
        (name, before.get(name, 0), after.get(name, 0))
        for name in sorted({*before, *after})
        if before.get(name, 0) != after.get(name, 0)
    ]


def missing(stock, order):''',
            ),
        )
    },
    hidden={
        "tests/test_inventory.py": """\


def test_changes_of_numbers():
    found = inventory.changes({"nuts": 2, "figs": 1, "kiwis": 4}, {"nuts": 5, "kiwis": 4, "ale": 1})
    assert len(found) == 3
    assert list(found) == [("ale", 0, 1), ("figs", 1, 0), ("nuts", 2, 5)]


def test_equal_stocks():
    assert len(inventory.changes({"nuts": 2}, {"nuts": 2, "figs": 0})) == 0
"""
    },
    right={
        "inventory.py": (
            (
                "def missing(stock, order):",
                '''\
def changes(before, after):
    """The articles whose number changed, with both numbers."""
    for name in sorted(before | after):
        numbers = before.get(name, 0), after.get(name, 0)
        if numbers[0] != numbers[1]:
            yield name, *numbers


def missing(stock, order):''',
            ),
        )
    },
)

NARROW = (DEPOSIT, SHORTEST, UNITS, TABLE, AMOUNT, TAGS, SHOP, ALARMS, CHANGES)


def _lenient(case: QualityCase, reason: str, **changes: object) -> QualityCase:
    """The same task with other tests, which accept the other fix."""
    name = f"{case.name}-lenient"
    return replace(case, name=name, kind=None, unstated="", reason=reason, **changes)


FAIR = (
    _lenient(
        DEPOSIT,
        "the tests compare the exception alone, which the report names",
        hidden={
            path: text.replace(', match="deposit has to be positive"', "")
            for path, text in DEPOSIT.hidden.items()
        },
    ),
    _lenient(
        SHORTEST,
        "the tests make a list of the nodes before they compare",
        hidden={
            path: text.replace("graphs.shortest_path(CITY, ", "nodes(").replace(
                "\n\n\n",
                "\n\n\ndef nodes(start, goal):\n"
                "    path = graphs.shortest_path(CITY, start, goal)\n"
                "    return path if path is None else list(path)\n\n\n",
                1,
            )
            for path, text in SHORTEST.hidden.items()
        },
    ),
    _lenient(
        UNITS,
        "the tests accept each kind of error",
        hidden={
            path: text.replace("except TypeError:", "except Exception:")
            for path, text in UNITS.hidden.items()
        },
    ),
    replace(
        TABLE,
        name="table-columns-line-up-stated",
        kind=None,
        reason="the report shows the output with its two spaces",
        instruction=f"""\
{TABLE.instruction}
That is, with two blanks between columns:

```
name    qty
apples  3
figs    12
```
""",
        right={
            "tables.py": (
                (
                    '    return "".join(" ".join(cell(value) for value in row) + "\\n" '
                    "for row in rows)",
                    "    texts = [[cell(value) for value in row] for row in rows]\n"
                    "    widths = [max(map(len, column)) for column in zip(*texts)]\n"
                    "    lines = []\n"
                    "    for row in texts:\n"
                    '        line = "  ".join(f"{t:<{w}}" for t, w in zip(row, widths))\n'
                    '        lines.append(line.rstrip() + "\\n")\n'
                    '    return "".join(lines)',
                ),
            )
        },
    ),
    _lenient(
        TAGS,
        "the test sorts the counts; `items`, which is new in the fix, is a method of each dict",
        hidden={
            path: text.replace(
                "list(found.items())",
                "sorted(found.items())",
            )
            for path, text in TAGS.hidden.items()
        },
        # The order of the reference solution would be a part that no test sees.
        fix={
            "tags.py": (
                (
                    "    return found",
                    "    lowered = {}\n    for tag, number in found.items():\n"
                    "        lowered[tag.lower()] = lowered.get(tag.lower(), 0) + number\n"
                    "    return lowered",
                ),
            )
        },
    ),
    _lenient(
        ALARMS,
        "the tests give a function that takes `urgent` in both ways",
        hidden={
            "tests/test_alarms.py": """\


def test_an_alarm_is_sent_once():
    monitor = Monitor(5, Mock())
    for degrees in (4, 3, 5, 4):
        monitor.read(degrees)
    assert [call.args[0] for call in monitor.send.mock_calls] == ["4 degrees", "4 degrees"]


def test_frost_is_urgent(capsys):
    monitor = Monitor(5)
    for degrees in (-1, 5, 0):
        monitor.read(degrees)
    assert capsys.readouterr().out == "! -1 degrees\\n- 0 degrees\\n"
"""
        },
    ),
    _lenient(
        CHANGES,
        "the tests make a list of the result",
        hidden={
            path: text.replace("    assert len(found) == 3\n", "").replace(
                'len(inventory.changes({"nuts": 2}, {"nuts": 2, "figs": 0})) == 0',
                'not list(inventory.changes({"nuts": 2}, {"nuts": 2, "figs": 0}))',
            )
            for path, text in CHANGES.hidden.items()
        },
    ),
    _lenient(
        SHOP,
        "the tests import the function from where the report puts it",
        hidden={
            path: text.replace("    from shop.discounts import bulk_price\n\n", "").replace(
                "assert bulk_price", "assert shop.bulk_price"
            )
            for path, text in SHOP.hidden.items()
        },
    ),
)
