"""Tasks with both faults: the tests reject a right fix, and they accept a wrong one."""

from tests.corpora.task_quality.case import QualityCase, UnfairKind

PRINTER = QualityCase(
    name="printer-of-expressions",
    kind=UnfairKind.EQUAL,
    unstated="_strength",
    reason="a test calls the private helper `_strength` of the reference solution",
    wrong_reason="a power of a power to the left loses its parentheses",
    files={
        "README.md": """\
# printer

Expressions are trees of tuples: `("+", "a", ("*", 2, "b"))` is a + 2 * b.
""",
        "printer.py": '''\
"""Print expressions: numbers, names, and tuples of an operator and two expressions."""


def variables(node):
    """The names in an expression."""
    if isinstance(node, tuple):
        return variables(node[1]) | variables(node[2])
    return {node} if isinstance(node, str) else set()


def text(node):
    """An expression as text."""
    if not isinstance(node, tuple):
        return str(node)
    operator, left, right = node
    return f"{text(left)} {operator} {text(right)}"


def value(node, values):
    """The value of an expression, given those of its names."""
    if not isinstance(node, tuple):
        return values[node] if isinstance(node, str) else node
    one, other = value(node[1], values), value(node[2], values)
    return {"+": one + other, "*": one * other, "^": one**other}[node[0]]
''',
        "tests/test_printer.py": """\
import printer


def test_sums():
    assert printer.text(("+", "a", ("*", 2, "b"))) == "a + 2 * b"


def test_variables():
    assert printer.variables(("+", "a", ("*", 2, "b"))) == {"a", "b"}


def test_values():
    assert printer.value(("+", "a", ("^", 2, 3)), {"a": 5}) == 13
""",
    },
    instruction="""\
Parentheses get lost, and the printed expression means something else:

    >>> from printer import text
    >>> text(("*", ("+", "a", "b"), 2))
    'a + b * 2'

It should be `(a + b) * 2`. The operators are `+`, `*` and `^`, as strong as in mathematics, and `^`
goes from right to left: `("^", ("^", "a", 2), 3)` is `(a ^ 2) ^ 3`, and `a ^ 2 ^ 3` is the text of
`("^", "a", ("^", 2, 3))`. No parentheses where they are not needed, please.
""",
    fix={
        "printer.py": (
            (
                "def text(node):",
                """\
def _strength(node):
    return "+*^".index(node[0]) if isinstance(node, tuple) else 3


def text(node):""",
            ),
            (
                '    return f"{text(left)} {operator} {text(right)}"',
                "    before, after = text(left), text(right)\n"
                "    if _strength(left) < _strength(node):\n"
                '        before = f"({before})"\n'
                '    elif operator == "^" and _strength(left) == _strength(node):\n'
                '        before = f"({before})"\n'
                "    if _strength(right) < _strength(node):\n"
                '        after = f"({after})"\n'
                '    return f"{before} {operator} {after}"',
            ),
        )
    },
    hidden={
        "tests/test_printer.py": """\


def test_strengths():
    assert printer._strength(("+", 1, 2)) < printer._strength(("*", 1, 2))
    assert printer._strength("a") > printer._strength(("^", "a", 2))


def test_parentheses():
    assert printer.text(("*", ("+", "a", "b"), 2)) == "(a + b) * 2"
    assert printer.text(("^", 2, ("+", "a", 1))) == "2 ^ (a + 1)"
"""
    },
    right={
        "printer.py": (
            (
                '    return f"{text(left)} {operator} {text(right)}"',
                '    order = "+*^"\n'
                "    at = order.index(operator)\n\n"
                "    def part(child, weaker):\n"
                "        needed = isinstance(child, tuple) and child[0] in weaker\n"
                '        return f"({text(child)})" if needed else text(child)\n\n'
                '    weaker = order if operator == "^" else order[:at]\n'
                '    return f"{part(left, weaker)} {operator} {part(right, order[:at])}"',
            ),
        )
    },
    wrong={
        "printer.py": (
            (
                "def text(node):",
                """\
def _strength(node):
    return "+*^".index(node[0]) if isinstance(node, tuple) else 3


def text(node):""",
            ),
            (
                '    return f"{text(left)} {operator} {text(right)}"',
                "    before, after = text(left), text(right)\n"
                "    if _strength(left) < _strength(node):\n"
                '        before = f"({before})"\n'
                "    if _strength(right) < _strength(node):\n"
                '        after = f"({after})"\n'
                '    return f"{before} {operator} {after}"',
            ),
        )
    },
    stronger={
        "tests/test_printer.py": """\


def test_powers():
    assert printer.text(("^", ("^", "a", 2), 3)) == "(a ^ 2) ^ 3"
    assert printer.text(("^", "a", ("^", 2, 3))) == "a ^ 2 ^ 3"
"""
    },
)

MONTHS = QualityCase(
    name="months-later",
    kind=UnfairKind.BEYOND,
    reason="a test also gives half a month and wants a `ValueError`",
    wrong_reason="February has 28 days in leap years, too",
    files={
        "months.py": '''\
"""Due dates of contracts."""

from datetime import date

_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def add_months(day, count):
    """The same day of a month so many months later."""
    return day.replace(month=day.month + count)


def due_dates(start, count):
    """The dates of some monthly payments."""
    return [add_months(start, number) for number in range(count)]


def is_overdue(due, today=None):
    """Whether a date has passed."""
    return due < (today or date.today())
''',
        "tests/test_months.py": """\
from datetime import date

import pytest

import months


def test_dates_of_one_year():
    assert months.due_dates(date(2021, 3, 5), 2) == [date(2021, 3, 5), date(2021, 4, 5)]


def test_a_day_after_the_date_is_overdue():
    assert months.is_overdue(date(2021, 3, 5), date(2021, 3, 6))


def test_a_count_has_to_be_a_number():
    with pytest.raises(TypeError):
        months.add_months(date(2021, 3, 5), "one")
""",
    },
    instruction="""\
# add_months breaks at the end of months and years

```pycon
>>> from datetime import date
>>> from months import add_months
>>> add_months(date(2021, 11, 5), 2)
Traceback (most recent call last):
  ...
ValueError: month must be in 1..12
>>> add_months(date(2021, 1, 31), 1)
Traceback (most recent call last):
  ...
ValueError: day is out of range for month
```

The first one should be `date(2022, 1, 5)`. The second one should be the last day of the month, so
`date(2021, 2, 28)`, and in a leap year of course the 29th.
""",
    fix={
        "months.py": (
            (
                "    return day.replace(month=day.month + count)",
                "    if count % 1:\n"
                '        raise ValueError(f"{count} is no whole number of months")\n'
                "    years, month = divmod(day.month - 1 + count, 12)\n"
                "    year = day.year + years\n"
                "    last = _DAYS[month]\n"
                "    if month == 1 and (year % 4 == 0 and year % 100 != 0 or year % 400 == 0):\n"
                "        last = 29\n"
                "    return date(year, month + 1, min(day.day, last))",
            ),
        )
    },
    hidden={
        "tests/test_months.py": """\


def test_months_of_the_next_year():
    assert months.add_months(date(2021, 11, 5), 2) == date(2022, 1, 5)
    assert months.add_months(date(2021, 12, 5), 12) == date(2022, 12, 5)


def test_last_days():
    assert months.add_months(date(2021, 1, 31), 1) == date(2021, 2, 28)
    assert months.add_months(date(2021, 8, 31), 1) == date(2021, 9, 30)


def test_half_a_month():
    with pytest.raises(ValueError):
        months.add_months(date(2021, 11, 5), 0.5)
"""
    },
    right={
        "months.py": (
            ("from datetime import date\n", "import calendar\nfrom datetime import date\n"),
            (
                "    return day.replace(month=day.month + count)",
                "    years, month = divmod(day.month - 1 + count, 12)\n"
                "    last = calendar.monthrange(day.year + years, month + 1)[1]\n"
                "    return date(day.year + years, month + 1, min(day.day, last))",
            ),
        )
    },
    wrong={
        "months.py": (
            (
                "    return day.replace(month=day.month + count)",
                "    if count % 1:\n"
                '        raise ValueError(f"{count} is no whole number of months")\n'
                "    years, month = divmod(day.month - 1 + count, 12)\n"
                "    return date(day.year + years, month + 1, min(day.day, _DAYS[month]))",
            ),
        )
    },
    stronger={
        "tests/test_months.py": """\


def test_leap_years():
    assert months.add_months(date(2024, 1, 31), 1) == date(2024, 2, 29)
    assert months.add_months(date(1999, 12, 31), 2) == date(2000, 2, 29)
    assert months.add_months(date(2100, 1, 31), 1) == date(2100, 2, 28)
"""
    },
)

SHARES = QualityCase(
    name="money-in-equal-shares",
    kind=UnfairKind.EQUAL,
    unstated="must be somebody to pay",
    reason="the tests compare the wording of a message that the report leaves open",
    wrong_reason="a refund gives the cents that are over to the last shares",
    files={
        "README.md": """\
# shares

Who owes what after a holiday. All amounts are in cents.
""",
        "shares.py": '''\
"""Split bills among friends."""


def split(cents, count):
    """An amount in equal shares."""
    return [cents // count] * count


def owed(paid):
    """What each person gets back; negative: has to pay."""
    shares = split(sum(paid.values()), len(paid))
    return {name: paid[name] - share for name, share in zip(sorted(paid), shares)}


def settled(owes):
    """Payments that even everything out: who pays, who gets it, and the cents."""
    debts = sorted((cents, name) for name, cents in owes.items() if cents < 0)
    claims = sorted(((cents, name) for name, cents in owes.items() if cents > 0), reverse=True)
    return [(name, claims[0][1], -cents) for cents, name in debts] if len(claims) == 1 else None
''',
        "tests/test_shares.py": """\
import pytest

import shares


def test_equal_shares():
    assert shares.split(900, 3) == [300, 300, 300]


def test_what_each_person_gets_back():
    assert shares.owed({"bob": 0, "ann": 100}) == {"ann": 50, "bob": -50}


def test_payments_to_one_person():
    assert shares.settled({"ann": 50, "bob": -30, "cy": -20}) == [
        ("bob", "ann", 30),
        ("cy", "ann", 20),
    ]
    assert shares.settled({"ann": 1, "bob": 1, "cy": -2}) is None
""",
    },
    instruction="""\
`split(1000, 3)` gives `[333, 333, 333]`; where is the last cent? The shares must add up to the
amount. What is over goes to the first ones, a cent each: `[334, 333, 333]`. A refund is split the
same way, so `split(-1000, 3)` is `[-334, -333, -333]`.

And `split(1000, -2)` should not give an empty list. A count below 1 is a `ValueError`.
""",
    fix={
        "shares.py": (
            (
                "    return [cents // count] * count",
                "    if count < 1:\n"
                '        raise ValueError("there must be somebody to pay")\n'
                "    if cents < 0:\n"
                "        return [-share for share in split(-cents, count)]\n"
                "    share, over = divmod(cents, count)\n"
                "    return [share + (number < over) for number in range(count)]",
            ),
        )
    },
    hidden={
        "tests/test_shares.py": """\


def test_the_first_ones_get_what_is_over():
    assert shares.split(1000, 3) == [334, 333, 333]
    assert shares.split(5, 3) == [2, 2, 1]


def test_somebody_has_to_pay():
    for count in (0, -2):
        with pytest.raises(ValueError, match="must be somebody to pay"):
            shares.split(1000, count)
    assert shares.split(7, 1) == [7]
"""
    },
    right={
        "shares.py": (
            (
                "    return [cents // count] * count",
                "    if count <= 0:\n"
                '        raise ValueError(f"cannot make {count} shares")\n'
                "    sign = -1 if cents < 0 else 1\n"
                "    shares = [sign * (abs(cents) // count)] * count\n"
                "    for number in range(abs(cents) % count):\n"
                "        shares[number] += sign\n"
                "    return shares",
            ),
        )
    },
    wrong={
        "shares.py": (
            (
                "    return [cents // count] * count",
                "    if count < 1:\n"
                '        raise ValueError("there must be somebody to pay")\n'
                "    share, over = divmod(cents, count)\n"
                "    return [share + (number < over) for number in range(count)]",
            ),
        )
    },
    stronger={
        "tests/test_shares.py": """\


def test_refunds():
    assert shares.split(-1000, 3) == [-334, -333, -333]
"""
    },
)

INI = QualityCase(
    name="ini-comments-after-values",
    kind=UnfairKind.UNSTATED,
    unstated="inline_comments",
    reason="the tests give the new keyword `inline_comments`; the report says `on request`",
    wrong_reason="a `#` in quotes begins a comment",
    files={
        "README.md": """\
# inifile

Reads files such as

    [printer]
    name = laser
""",
        "inifile.py": '''\
"""Read files with sections: `[name]`, then lines of `key = value`."""


def unquoted(text):
    """A value without the quotes around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def parse(text):
    """The values by section and key."""
    sections, current = {}, {}
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("["):
            current = sections.setdefault(stripped[1:-1], {})
        elif stripped and not stripped.startswith("#"):
            key, _, value = stripped.partition("=")
            current[key.strip()] = unquoted(value.strip())
    return sections


def merge(*parsed):
    """Several files as one; later ones win."""
    merged = {}
    for sections in parsed:
        for name, values in sections.items():
            merged.setdefault(name, {}).update(values)
    return merged
''',
        "tests/test_inifile.py": """\
import inifile


def test_sections():
    text = "# all\\n[a]\\nx = 1\\ny = \\"2 \\"\\n\\n[b]\\nx=3"
    assert inifile.parse(text) == {"a": {"x": "1", "y": "2 "}, "b": {"x": "3"}}


def test_a_lone_quote_is_a_value():
    assert inifile.parse('[a]\\nx = "') == {"a": {"x": '"'}}


def test_later_files_win():
    one, other = {"a": {"x": "1", "y": "2"}}, {"a": {"x": "3"}, "b": {}}
    assert inifile.merge(one, other) == {"a": {"x": "3", "y": "2"}, "b": {}}
""",
    },
    instruction="""\
The files of one of our suppliers have comments after values:

    [printer]
    name = laser      # second floor
    room = "#12"      # a room, no comment

Please let `parse` cut them off on request. Whoever does not ask for it gets what he gets today, as
a `#` can be a part of a value. In quotes it always is.
""",
    fix={
        "inifile.py": (
            (
                "def parse(text):",
                """\
def _without_comment(value):
    is_quoted = False
    for at, sign in enumerate(value):
        if sign == '"':
            is_quoted = not is_quoted
        elif sign == "#" and not is_quoted:
            return value[:at]
    return value


def parse(text, *, inline_comments=False):""",
            ),
            (
                "            current[key",
                "            if inline_comments:\n"
                "                value = _without_comment(value)\n            current[key",
            ),
        )
    },
    hidden={
        "tests/test_inifile.py": """\


def test_comments_after_values():
    text = "[printer]\\nname = laser    # second floor\\nroom = 12\\n"
    found = inifile.parse(text, inline_comments=True)
    assert found == {"printer": {"name": "laser", "room": "12"}}
    assert inifile.parse(text)["printer"]["name"] == "laser    # second floor"
"""
    },
    right={
        "inifile.py": (
            (
                '"""Read files with sections: `[name]`, then lines of `key = value`."""\n',
                '"""Read files with sections: `[name]`, then lines of `key = value`."""\n\n'
                "import re\n",
            ),
            ("def parse(text):", "def parse(text, comments=False):"),
            (
                "            current[key",
                "            if comments:\n"
                '                value = re.match(\'("[^"]*"|[^#])*\', value)[0]\n'
                "            current[key",
            ),
        )
    },
    wrong={
        "inifile.py": (
            ("def parse(text):", "def parse(text, *, inline_comments=False):"),
            (
                "            current[key",
                "            if inline_comments:\n"
                '                value = value.partition("#")[0]\n            current[key',
            ),
        )
    },
    stronger={
        "tests/test_inifile.py": """\


def test_quoted_values_have_no_comments():
    found = inifile.parse('[a]\\nroom = "#12"  # a room\\n', inline_comments=True)
    assert found == {"a": {"room": "#12"}}
"""
    },
)

CACHE = QualityCase(
    name="cache-count-of-dropped",
    kind=UnfairKind.UNSTATED,
    unstated="evictions",
    reason="the tests read the new attribute `evictions`, which the report does not name",
    wrong_reason="`clear` does not start the count again",
    files={
        "lru.py": '''\
"""A cache that drops what was not used for the longest time."""

from collections import OrderedDict


class Cache:
    """Values by key; at most `size` of them."""

    def __init__(self, size):
        self.size = size
        self._values = OrderedDict()

    def get(self, key, default=None):
        """The value of a key, which counts as a use of it."""
        if key not in self._values:
            return default
        self._values.move_to_end(key)
        return self._values[key]

    def put(self, key, value):
        """Store a value."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self.size:
            self._values.popitem(last=False)

    def clear(self):
        """Remove all values."""
        self._values.clear()
''',
        "tests/test_lru.py": """\
from lru import Cache


def test_the_oldest_is_dropped():
    cache = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_nothing_is_left_after_clear():
    cache = Cache(2)
    cache.put("a", 1)
    cache.clear()
    assert cache.get("a") is None
""",
    },
    instruction="""\
We have no idea whether our caches are large enough. I want to read from a cache how many values it
had to drop because it was full. Replacing a value does not count, and after `clear()` the count is
0 again.
""",
    fix={
        "lru.py": (
            (
                "        self._values = OrderedDict()\n",
                "        self._values = OrderedDict()\n        self.evictions = 0\n",
            ),
            (
                "            self._values.popitem(last=False)",
                "            self._values.popitem(last=False)\n            self.evictions += 1",
            ),
            (
                "        self._values.clear()",
                "        self._values.clear()\n        self.evictions = 0",
            ),
        )
    },
    hidden={
        "tests/test_lru.py": """\


def test_dropped_values_are_counted():
    cache = Cache(2)
    assert cache.evictions == 0
    for key in "abbcd":
        cache.put(key, 1)
    assert cache.evictions == 2
"""
    },
    right={
        "lru.py": (
            (
                "        self._values = OrderedDict()\n",
                "        self._values = OrderedDict()\n        self.dropped = 0\n",
            ),
            (
                "            self._values.popitem(last=False)",
                "            self._values.popitem(last=False)\n            self.dropped += 1",
            ),
            ("        self._values.clear()", "        self.__init__(self.size)"),
        )
    },
    wrong={
        "lru.py": (
            (
                "        self._values = OrderedDict()\n",
                "        self._values = OrderedDict()\n        self.evictions = 0\n",
            ),
            (
                "            self._values.popitem(last=False)",
                "            self._values.popitem(last=False)\n            self.evictions += 1",
            ),
        )
    },
    stronger={
        "tests/test_lru.py": """\


def test_the_count_starts_again():
    cache = Cache(1)
    cache.put("a", 1)
    cache.put("b", 1)
    cache.clear()
    assert cache.evictions == 0
"""
    },
)

WORDS = QualityCase(
    name="top-words-with-counts",
    kind=UnfairKind.EQUAL,
    reason="the test wants the number right-aligned in four columns; the report says `before it`",
    wrong_reason="words that are as frequent have the order of the text",
    files={
        "topwords.py": '''\
"""Print the most frequent words of a file: topwords FILE [COUNT]."""

import re
import sys
from collections import Counter


def words(text):
    """The words of a text in lower case."""
    return re.findall(r"[a-z']+", text.lower())


def top(text, count):
    """The most frequent words with their numbers."""
    return Counter(words(text)).most_common(count)


def main(argv):
    """Print the words, the most frequent one first."""
    with open(argv[0]) as file:
        found = top(file.read(), int(argv[1]) if len(argv) > 1 else 10)
    for word, _ in found:
        print(word)


if __name__ == "__main__":
    main(sys.argv[1:])
''',
        "tests/test_topwords.py": """\
import topwords


def test_words():
    assert topwords.words("It's 5 o'clock") == ["it's", "o'clock"]


def test_the_most_frequent_words():
    assert topwords.top("b a b a b c", 2) == [("b", 3), ("a", 2)]


def test_words_of_a_file(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("To be or to")
    topwords.main([str(tmp_path / "a.txt"), "1"])
    assert capsys.readouterr().out.split()[-1] == "to"
""",
    },
    instruction="""\
The command prints words without how often they occur. Please print the number of each word before
it. Also, the lists of two runs are hard to compare: words that occur equally often should be in the
order of the alphabet.
""",
    fix={
        "topwords.py": (
            (
                "    return Counter(words(text)).most_common(count)",
                "    ordered = sorted(Counter(words(text)).items())\n"
                "    return sorted(ordered, key=lambda pair: pair[1], reverse=True)[:count]",
            ),
            (
                "    for word, _ in found:\n        print(word)",
                '    for word, number in found:\n        print(f"{number:4} {word}")',
            ),
        )
    },
    hidden={
        "tests/test_topwords.py": """\


def test_words_with_their_numbers(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("to be or not to be to")
    topwords.main([str(tmp_path / "a.txt"), "2"])
    assert capsys.readouterr().out == "   3 to\\n   2 be\\n"
"""
    },
    right={
        "topwords.py": (
            (
                "    return Counter(words(text)).most_common(count)",
                "    found = Counter(words(text))\n"
                "    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:count]",
            ),
            (
                "    for word, _ in found:\n        print(word)",
                "    for word, number in found:\n        print(number, word)",
            ),
        )
    },
    wrong={
        "topwords.py": (
            (
                "    for word, _ in found:\n        print(word)",
                '    for word, number in found:\n        print(f"{number:4} {word}")',
            ),
        )
    },
    stronger={
        "tests/test_topwords.py": """\


def test_words_that_are_as_frequent():
    assert topwords.top("c b a b c d", 4) == [("b", 2), ("c", 2), ("a", 1), ("d", 1)]
"""
    },
)

SCHEDULE = QualityCase(
    name="schedule-in-order-of-needs",
    kind=UnfairKind.EQUAL,
    reason="the test wants one of several right orders; the report asks for any",
    wrong_reason="a circle is no error: its jobs are left out",
    files={
        "README.md": """\
# schedule

Plans the jobs of a night. Each job names the jobs that it needs:

    schedule.ordered({"report": ["import"], "import": []})
""",
        "schedule.py": '''\
"""Bring jobs into an order; `needs` has for each job those that it needs."""


def missing(needs):
    """Jobs that are needed and that nobody describes."""
    return {name for needed in needs.values() for name in needed} - set(needs)


def ordered(needs):
    """The jobs as a list, so that each stands behind those that it needs."""
    return sorted(needs, key=lambda job: len(needs[job]))


def finish(needs, minutes):
    """When each job is done, in minutes, if jobs without needs start at once."""
    done = {}

    def end(job):
        if job not in done:
            done[job] = max(map(end, needs[job]), default=0) + minutes[job]
        return done[job]

    return {job: end(job) for job in needs}
''',
        "tests/test_schedule.py": """\
import pytest

import schedule


def test_missing_jobs():
    assert schedule.missing({"a": ["b", "c"], "b": []}) == {"c"}


def test_a_job_that_needs_another_one():
    assert schedule.ordered({"a": ["b"], "b": []}) == ["b", "a"]


def test_when_jobs_are_done():
    needs = {"a": ["b", "c"], "b": [], "c": []}
    assert schedule.finish(needs, {"a": 1, "b": 2, "c": 5}) == {"a": 6, "b": 2, "c": 5}
""",
    },
    instruction="""\
# Wrong order

```python
from schedule import ordered

needs = {"deploy": ["test"], "test": ["build", "lint"], "build": [], "lint": []}
print(ordered(needs))
# ['build', 'lint', 'deploy', 'test'] -- deploy comes before test!
```

Counting what a job needs is not enough. Any order is fine as long as each job comes after all that
it needs. If that cannot be, because jobs need each other in a circle, please raise a `ValueError`.
""",
    fix={
        "schedule.py": (
            (
                "    return sorted(needs, key=lambda job: len(needs[job]))",
                "    waiting = {job: set(needed) for job, needed in needs.items()}\n"
                "    result = []\n"
                "    while ready := sorted(job for job in waiting if not waiting[job]):\n"
                "        result += ready\n"
                "        for job in ready:\n"
                "            del waiting[job]\n"
                "        for needed in waiting.values():\n"
                "            needed.difference_update(ready)\n"
                "    if waiting:\n"
                '        raise ValueError(f"jobs in a circle: {sorted(waiting)}")\n'
                "    return result",
            ),
        )
    },
    hidden={
        "tests/test_schedule.py": """\


def test_each_job_stands_behind_those_that_it_needs():
    needs = {
        "ship": ["pack", "pay"],
        "pack": ["make"],
        "make": ["buy", "draw"],
        "draw": [],
        "buy": [],
        "pay": [],
    }
    assert schedule.ordered(needs) == ["buy", "draw", "pay", "make", "pack", "ship"]
"""
    },
    right={
        "schedule.py": (
            (
                '"""Bring jobs into an order; `needs` has for each job those that it needs."""\n',
                '"""Bring jobs into an order; `needs` has for each job those that it needs."""\n\n'
                "from graphlib import CycleError, TopologicalSorter\n",
            ),
            (
                "    return sorted(needs, key=lambda job: len(needs[job]))",
                "    try:\n        return list(TopologicalSorter(needs).static_order())\n"
                "    except CycleError as error:\n"
                "        raise ValueError(*error.args) from None",
            ),
        )
    },
    wrong={
        "schedule.py": (
            (
                "    return sorted(needs, key=lambda job: len(needs[job]))",
                "    waiting = {job: set(needed) for job, needed in needs.items()}\n"
                "    result = []\n"
                "    while ready := sorted(job for job in waiting if not waiting[job]):\n"
                "        result += ready\n"
                "        for job in ready:\n"
                "            del waiting[job]\n"
                "        for needed in waiting.values():\n"
                "            needed.difference_update(ready)\n"
                "    return result",
            ),
        )
    },
    stronger={
        "tests/test_schedule.py": """\


def test_a_circle():
    with pytest.raises(ValueError):
        schedule.ordered({"a": ["b"], "b": ["a"], "c": []})
"""
    },
)

VERSIONS = QualityCase(
    name="versions-before-release",
    kind=UnfairKind.BEYOND,
    reason="the report speaks of pre-releases; a test also has build metadata after a `+`",
    wrong_reason="numbers in pre-releases compare as texts",
    files={
        "README.md": """\
# versions

What our updater knows about version numbers: three numbers with dots.
""",
        "versions.py": '''\
"""Compare version numbers."""

import re


def key(version):
    """What versions are sorted by."""
    return [part.zfill(8) for part in re.split("[.-]", version)]


def newest(versions):
    """The highest version."""
    return max(versions, key=key)


def is_compatible(installed, required):
    """Whether an installed version can be used where another one is required."""
    return installed.split(".")[0] == required.split(".")[0] and key(installed) >= key(required)


def next_minor(version):
    """The version after the next release with new features."""
    major, minor, _ = version.split(".")
    return f"{major}.{int(minor) + 1}.0"
''',
        "tests/test_versions.py": """\
import versions


def test_numbers_are_compared():
    assert versions.newest(["1.9.0", "1.10.0", "1.2.3"]) == "1.10.0"


def test_one_version():
    assert versions.newest(["1.0.0"]) == "1.0.0"


def test_versions_of_one_major_are_compatible():
    assert versions.is_compatible("2.3.0", "2.1.5")
    assert not versions.is_compatible("3.0.0", "2.1.5")
    assert not versions.is_compatible("2.1.4", "2.1.5")


def test_next_minor():
    assert versions.next_minor("1.9.3") == "1.10.0"
""",
    },
    instruction="""\
A pre-release is older than its release, but our updater thinks it is newer:

    >>> from versions import newest
    >>> newest(["1.0.0", "1.0.0-rc.1"])
    '1.0.0-rc.1'

should be `'1.0.0'`. Among pre-releases of the same version, what follows the hyphen is compared
part by part, and parts that are numbers are compared as numbers (rc.10 is newer than rc.9).
""",
    fix={
        "versions.py": (
            (
                '    return [part.zfill(8) for part in re.split("[.-]", version)]',
                '    numbers, _, pre = version.partition("+")[0].partition("-")\n'
                '    release = [part.zfill(8) for part in numbers.split(".")]\n'
                "    parts = []\n"
                '    for part in pre.split("."):\n'
                "        if part.isdigit():\n"
                "            part = part.zfill(8)\n"
                "        parts.append(part)\n"
                "    return release, not pre, parts",
            ),
        )
    },
    hidden={
        "tests/test_versions.py": """\


def test_pre_releases_are_older():
    assert versions.newest(["1.0.0", "1.0.0-rc.1"]) == "1.0.0"
    assert versions.newest(["1.0.0-beta.2", "1.0.0-rc.1"]) == "1.0.0-rc.1"
    assert versions.newest(["1.0.0", "1.0.1-a"]) == "1.0.1-a"


def test_builds_do_not_matter():
    assert versions.key("1.0.0+build-5") == versions.key("1.0.0")
"""
    },
    right={
        "versions.py": (
            (
                '    return [part.zfill(8) for part in re.split("[.-]", version)]',
                '    numbers, hyphen, pre = version.partition("-")\n'
                '    parts = [(0, int(p), "") if p.isdigit() else (1, 0, p) '
                'for p in pre.split(".")]\n'
                '    return [part.zfill(8) for part in numbers.split(".")], not hyphen, parts',
            ),
        )
    },
    wrong={
        "versions.py": (
            (
                '    return [part.zfill(8) for part in re.split("[.-]", version)]',
                '    numbers, _, pre = version.partition("+")[0].partition("-")\n'
                '    release = [part.zfill(8) for part in numbers.split(".")]\n'
                '    return release, not pre, pre.split(".")',
            ),
        )
    },
    stronger={
        "tests/test_versions.py": """\


def test_numbers_in_pre_releases():
    assert versions.newest(["1.0.0-rc.9", "1.0.0-rc.10"]) == "1.0.0-rc.10"
"""
    },
)

QUERY = QualityCase(
    name="query-with-several-values",
    kind=UnfairKind.EQUAL,
    reason="the test wants the keys sorted; in a query their order does not matter",
    wrong_reason="None becomes the text `None`",
    files={
        "README.md": """\
# urls

    urls.join("https://example.org", "books", "7")
    urls.with_query("https://example.org/search", q="old maps")
""",
        "urls.py": '''\
"""Make URLs."""

from urllib.parse import quote_plus


def join(base, *parts):
    """A URL with some parts in its path."""
    return "/".join([base.rstrip("/"), *(part.strip("/") for part in parts)])


def with_query(url, **parameters):
    """A URL with parameters."""
    pairs = [f"{name}={quote_plus(str(value))}" for name, value in parameters.items()]
    return f"{url}?{'&'.join(pairs)}" if pairs else url


def host(url):
    """The host of a URL, without a port."""
    return url.partition("://")[2].partition("/")[0].partition(":")[0]


def is_below(url, base):
    """Whether a URL is that of a page, or of one below it."""
    return url == base or url.startswith(base.rstrip("/") + "/")
''',
        "tests/test_urls.py": """\
import urls


def test_paths():
    assert urls.join("http://a/", "/b/", "c") == "http://a/b/c"


def test_queries():
    assert urls.with_query("http://a") == "http://a"
    assert urls.with_query("http://a", q="x y") == "http://a?q=x+y"


def test_hosts():
    assert urls.host("http://example.org:80/x") == "example.org"


def test_pages_below():
    assert urls.is_below("http://a/b/c", "http://a/b")
    assert not urls.is_below("http://a/bc", "http://a/b")
""",
    },
    instruction="""\
Two problems with `urls.with_query` when I call our search:

- `with_query(url, tag=["a", "b"])` gives `tag=%5B%27a%27%2C+%27b%27%5D`. The server needs a
  parameter for each value, `tag=a&tag=b`, in the order of the list.
- `with_query(url, page=None)` gives `page=None`. Parameters that are None should be left out.
""",
    fix={
        "urls.py": (
            (
                '    pairs = [f"{name}={quote_plus(str(value))}" '
                "for name, value in parameters.items()]",
                "    pairs = []\n"
                "    for name in sorted(parameters):\n"
                "        value = parameters[name]\n"
                "        if value is None:\n"
                "            continue\n"
                "        values = value if isinstance(value, list) else [value]\n"
                '        pairs += [f"{name}={quote_plus(str(each))}" for each in values]',
            ),
        )
    },
    hidden={
        "tests/test_urls.py": """\


def test_queries_with_several_values():
    url = urls.with_query("http://a", tag=["y", "x"], page=2)
    assert url == "http://a?page=2&tag=y&tag=x"
"""
    },
    right={
        "urls.py": (
            ("from urllib.parse import quote_plus", "from urllib.parse import urlencode"),
            (
                '    pairs = [f"{name}={quote_plus(str(value))}" '
                "for name, value in parameters.items()]\n"
                "    return f\"{url}?{'&'.join(pairs)}\" if pairs else url",
                "    given = {n: v for n, v in parameters.items() if v is not None}\n"
                "    query = urlencode(given, doseq=True)\n"
                '    return f"{url}?{query}" if query else url',
            ),
        )
    },
    wrong={
        "urls.py": (
            (
                '    pairs = [f"{name}={quote_plus(str(value))}" '
                "for name, value in parameters.items()]",
                "    pairs = []\n"
                "    for name in sorted(parameters):\n"
                "        value = parameters[name]\n"
                "        values = value if isinstance(value, list) else [value]\n"
                '        pairs += [f"{name}={quote_plus(str(each))}" for each in values]',
            ),
        )
    },
    stronger={
        "tests/test_urls.py": """\


def test_none_is_left_out():
    assert urls.with_query("http://a", page=None) == "http://a"
    assert urls.with_query("http://a", q="x", page=None) == "http://a?q=x"
"""
    },
)

MARKUP = QualityCase(
    name="template-escapes-values",
    kind=UnfairKind.BEYOND,
    reason="the report speaks of escaping; a test also wants an empty text for unknown names",
    wrong_reason="what is marked as safe is escaped, too",
    files={
        "README.md": """\
# markup

Templates for the mails of our shop: `Dear {{ name }}, ...`.
""",
        "markup.py": '''\
"""Fill templates for HTML: `{{ name }}` stands for a value."""

import html
import re

_FIELD = re.compile(r"\\{\\{\\s*(\\w+)\\s*\\}\\}")


class Safe(str):
    """A text that is HTML already."""


def tag(name, text):
    """An element around a text."""
    return Safe(f"<{name}>{html.escape(text)}</{name}>")


def fill(template, values):
    """A template with its values."""
    return _FIELD.sub(lambda found: str(values[found[1]]), template)


def fields(template):
    """The names that a template uses."""
    return sorted(set(_FIELD.findall(template)))
''',
        "tests/test_markup.py": """\
import markup


def test_elements():
    assert markup.tag("b", "1 < 2") == "<b>1 &lt; 2</b>"


def test_values_are_filled_in():
    assert markup.fill("{{ a }} and {{b}}", {"a": 1, "b": "c"}) == "1 and c"


def test_names_of_a_template():
    assert markup.fields("{{ b }} {{a}} {{ b }}") == ["a", "b"]
""",
    },
    instruction="""\
# Values are not escaped

A user with the name `<script>...` can run code in our pages:

```pycon
>>> from markup import fill
>>> fill("Hello {{ name }}", {"name": "<script>"})
'Hello <script>'
```

`fill` should escape values (`'Hello &lt;script&gt;'`), except those that are `Safe`, such as the
results of `tag`.
""",
    fix={
        "markup.py": (
            (
                "def fill(template, values):",
                """\
def _as_html(value):
    if isinstance(value, Safe):
        return str(value)
    return html.escape(str(value))


def fill(template, values):""",
            ),
            ("str(values[found[1]])", '_as_html(values.get(found[1], ""))'),
        )
    },
    hidden={
        "tests/test_markup.py": """\


def test_values_are_escaped():
    assert markup.fill("Hello {{ name }}", {"name": "<i>"}) == "Hello &lt;i&gt;"
    assert markup.fill("{{ a }}", {"a": '"'}) == "&quot;"


def test_unknown_names_are_empty():
    assert markup.fill("a{{ b }}c", {}) == "ac"
"""
    },
    right={
        "markup.py": (
            (
                "def fill(template, values):",
                '''\
def fill(template, values):
    """A template with its values, which are escaped unless they are safe."""
    texts = {
        name: value if isinstance(value, Safe) else html.escape(f"{value}")
        for name, value in values.items()
    }
    return _FIELD.sub(lambda found: texts[found[1]], template)


def fill_unescaped(template, values):''',
            ),
        )
    },
    wrong={"markup.py": (("str(values[found[1]])", 'html.escape(str(values.get(found[1], "")))'),)},
    stronger={
        "tests/test_markup.py": """\


def test_elements_are_not_escaped():
    assert markup.fill("{{ a }}", {"a": markup.tag("b", "<")}) == "<b>&lt;</b>"
"""
    },
)

BOTH = (
    PRINTER,
    MONTHS,
    SHARES,
    INI,
    CACHE,
    WORDS,
    SCHEDULE,
    VERSIONS,
    QUERY,
    MARKUP,
)
