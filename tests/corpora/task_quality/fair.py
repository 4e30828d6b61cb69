"""Fair tasks that look like unfair ones: what the tests need is given, or they do not need it."""

from tests.corpora.task_quality.case import QualityCase

EXPORT = QualityCase(
    name="rows-as-csv-text",
    reason="the new name is parallel to `to_json_text` and `to_html_text` of the project",
    files={
        "README.md": """\
# formats

Reports leave the program as text. Add a function here for each format, and a line to this list:

- `to_json_text` for other programs
- `to_html_text` for mails
""",
        "formats.py": '''\
"""Rows of a report in several formats; each row is a dict with the same keys."""

import html
import json


def to_json_text(rows):
    """The rows as JSON."""
    return json.dumps(rows, sort_keys=True)


def to_html_text(rows):
    """The rows as a table in HTML."""
    cells = ("".join(f"<td>{html.escape(str(each))}</td>" for each in row.values()) for row in rows)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


def columns(rows):
    """The keys of all rows, each once."""
    return list(dict.fromkeys(key for row in rows for key in row))
''',
        "tests/test_formats.py": """\
import formats


def test_json():
    assert formats.to_json_text([{"b": 1, "a": None}]) == '[{"a": null, "b": 1}]'


def test_html():
    table = formats.to_html_text([{"a": "<"}])
    assert table == "<table><tr><td>&lt;</td></tr></table>"


def test_keys():
    assert formats.columns([{"b": 1}, {"a": 2, "b": 3}]) == ["b", "a"]
""",
    },
    instruction="""\
`formats` gives our rows as JSON text and as HTML text. The people in accounting want CSV text, too,
to open it in a spreadsheet: the keys in the first line, then a line for each row, values with
commas in quotes, lines that end with `\\n`. No rows give an empty text.
""",
    fix={
        "formats.py": (
            ("import html\n", "import csv\nimport html\nimport io\n"),
            (
                "def to_html_text(rows):",
                '''\
def to_csv_text(rows):
    """The rows as CSV, below their keys."""
    file = io.StringIO()
    if rows:
        writer = csv.DictWriter(file, rows[0], lineterminator="\\n")
        writer.writeheader()
        writer.writerows(rows)
    return file.getvalue()


def to_html_text(rows):''',
            ),
        )
    },
    hidden={
        "tests/test_formats.py": """\


def test_csv():
    rows = [{"name": "nuts, mixed", "price": 3}, {"name": "figs", "price": 12}]
    assert formats.to_csv_text(rows) == 'name,price\\n"nuts, mixed",3\\nfigs,12\\n'
    assert formats.to_csv_text(rows[1:]) == "name,price\\nfigs,12\\n"


def test_csv_without_rows():
    assert formats.to_csv_text([]) == ""
"""
    },
    right={
        "formats.py": (
            (
                "def to_html_text(rows):",
                '''\
def to_csv_text(rows):
    """The rows as CSV."""
    lines = [list(rows[0]), *(row.values() for row in rows)] if rows else []
    return "".join(",".join(map(_quoted, line)) + "\\n" for line in lines)


def _quoted(value):
    text = str(value)
    if any(each in text for each in ',"\\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def to_html_text(rows):''',
            ),
        )
    },
)

COMMENTS = QualityCase(
    name="comments-too-long",
    reason="the message that a test compares is a constant of the project",
    files={
        "README.md": """\
# forms

Each function returns the faults of a field as texts for the visitor; an empty list is fine.
""",
        "forms.py": '''\
"""Checks of what visitors enter."""

TOO_LONG = "at most {limit} characters are allowed"
MISSING = "please fill in this field"


def check_name(name):
    """The faults of a name."""
    faults = []
    if not name.strip():
        faults.append(MISSING)
    if len(name) > 40:
        faults.append(TOO_LONG.format(limit=40))
    return faults


def check_comment(comment):
    """The faults of a comment; an empty one is fine."""
    return [MISSING] if comment.isspace() else []


def check_mail(address):
    """The faults of a mail address."""
    if not address:
        return [MISSING]
    name, at, host = address.partition("@")
    return [] if name and at and "." in host else ["this is no mail address"]
''',
        "tests/test_forms.py": """\
import forms


def test_names():
    assert forms.check_name("Ann") == []
    assert forms.check_name(" ") == ["please fill in this field"]
    assert forms.check_name("x" * 41) == ["at most 40 characters are allowed"]


def test_comments():
    assert forms.check_comment("") == []
    assert forms.check_comment("  ") == ["please fill in this field"]


def test_mail_addresses():
    assert forms.check_mail("") == ["please fill in this field"]
    assert forms.check_mail("ann@example") == ["this is no mail address"]
    assert forms.check_mail("ann@example.org") == []
""",
    },
    instruction="""\
The length of a name is checked, that of a comment is not, and the database cuts long ones off.
Comments of more than 500 characters should be refused like names that are too long.
""",
    fix={
        "forms.py": (
            (
                "    return [MISSING] if comment.isspace() else []",
                "    faults = [MISSING] if comment.isspace() else []\n"
                "    if len(comment) > 500:\n"
                "        faults.append(TOO_LONG.format(limit=500))\n    return faults",
            ),
        )
    },
    hidden={
        "tests/test_forms.py": """\


def test_long_comments():
    assert forms.check_comment("x" * 501) == ["at most 500 characters are allowed"]
    assert forms.check_comment("x" * 500) == []
"""
    },
    right={
        "forms.py": (
            (
                "    return [MISSING] if comment.isspace() else []",
                "    if comment[500:]:\n        return [TOO_LONG.format(limit=500)]\n"
                "    return [MISSING] if comment.isspace() else []",
            ),
        )
    },
)

TODO = QualityCase(
    name="todo-documented-option",
    reason="the option that the tests give is documented in README.md",
    files={
        "README.md": """\
# todo

A list of tasks in a text file; done ones begin with `x`.

    todo FILE            print the open tasks
    todo --done FILE     print the tasks that are done
""",
        "todo.py": '''\
"""Print the tasks of a file."""

import sys


def read(path):
    """The tasks of a file: pairs of a text and whether it is done."""
    with open(path) as file:
        lines = [line.strip() for line in file]
    return [(line.removeprefix("x "), line.startswith("x ")) for line in lines if line]


def main(argv):
    """Print tasks, each with its number among all of them."""
    path = argv[-1]
    for number, (text, done) in enumerate(read(path), start=1):
        if not done:
            print(f"{number}. {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
''',
        "tests/test_todo.py": """\
import pytest

from todo import main, read


@pytest.fixture
def path(tmp_path):
    (tmp_path / "todo.txt").write_text("mow the lawn\\nx paint\\n\\nx fix the door\\n")
    return str(tmp_path / "todo.txt")


def test_tasks_are_read(path):
    assert read(path)[:2] == [("mow the lawn", False), ("paint", True)]


def test_open_tasks(path, capsys):
    assert main([path]) == 0
    assert capsys.readouterr().out == "1. mow the lawn\\n"
""",
    },
    instruction="""\
The README says that I can see what I have done already. I tried it and got the open tasks as
always. Either the README or the program is wrong; I would prefer the program to be mended.
""",
    fix={
        "todo.py": (
            ("    path = argv[-1]\n", '    path, wanted = argv[-1], "--done" in argv\n'),
            ("        if not done:", "        if done == wanted:"),
        )
    },
    hidden={
        "tests/test_todo.py": """\


def test_done_tasks(path, capsys):
    assert main(["--done", path]) == 0
    assert capsys.readouterr().out == "2. paint\\n3. fix the door\\n"
"""
    },
    right={
        "todo.py": (
            ("import sys\n", "import argparse\nimport sys\n"),
            (
                "    path = argv[-1]\n",
                "    parser = argparse.ArgumentParser()\n"
                '    parser.add_argument("--done", action="store_true")\n'
                '    parser.add_argument("file")\n'
                "    options = parser.parse_args(argv)\n",
            ),
            ("read(path), start", "read(options.file), start"),
            ("        if not done:", "        if done is options.done:"),
        )
    },
)

PROXY = QualityCase(
    name="proxy-of-the-environment",
    reason="the environment variable that the test sets is documented in docs/network.md",
    files={
        "docs/network.md": """\
# Network

Requests go through the proxy of the configuration. `FETCHER_PROXY` in the environment comes first.
An empty value turns the proxy off.
""",
        "fetcher.py": '''\
"""Fetch files over HTTP."""

import os
from urllib.request import ProxyHandler, build_opener


def proxy(configuration, environ=os.environ):
    """The URL of the proxy; None: there is none."""
    return configuration.get("proxy")


def opener(configuration):
    """What opens URLs."""
    url = proxy(configuration)
    return build_opener(ProxyHandler({"http": url, "https": url} if url else {}))
''',
        "tests/test_fetcher.py": """\
import fetcher


def test_proxy_of_the_configuration():
    assert fetcher.proxy({"proxy": "http://p:1"}, {}) == "http://p:1"
    assert fetcher.proxy({}, {}) is None


def test_opener_knows_its_proxy():
    handlers = fetcher.opener({"proxy": "http://p:1"}).handlers
    assert any(getattr(each, "proxies", {}).get("https") == "http://p:1" for each in handlers)
""",
    },
    instruction="""\
I cannot give the proxy in the environment as the documentation says. With a configuration that has
one, this one is always taken:

    fetcher.proxy({"proxy": "http://p:1"}, environ)

`environ` is not even read.
""",
    fix={
        "fetcher.py": (
            (
                '    return configuration.get("proxy")',
                '    if "FETCHER_PROXY" in environ:\n'
                '        return environ["FETCHER_PROXY"] or None\n'
                '    return configuration.get("proxy")',
            ),
        )
    },
    hidden={
        "tests/test_fetcher.py": """\


def test_proxy_of_the_environment():
    environ = {"FETCHER_PROXY": "http://q:2"}
    assert fetcher.proxy({"proxy": "http://p:1"}, environ) == "http://q:2"
    assert fetcher.proxy({"proxy": "http://p:1"}, {"FETCHER_PROXY": ""}) is None
"""
    },
    right={
        "fetcher.py": (
            (
                '    return configuration.get("proxy")',
                '    found = environ.get("FETCHER_PROXY", configuration.get("proxy"))\n'
                "    return found if found else None",
            ),
        )
    },
)

INCLUDES = QualityCase(
    name="configuration-includes-itself",
    reason="the reference has a new exception, the test expects the base that the report names",
    files={
        "confread.py": '''\
"""Read configurations: lines of `key = value`, and `include NAME`."""


class ConfigError(Exception):
    """A configuration that cannot be read."""


class MissingFileError(ConfigError):
    """A file that does not exist."""


def read(name, files):
    """The values of a configuration; `files` has the text of each file by its name."""
    if name not in files:
        raise MissingFileError(name)
    values = {}
    for line in files[name].splitlines():
        if line.startswith("include "):
            values.update(read(line.split()[1], files))
        elif line.strip():
            key, _, value = line.partition("=")
            values[key.strip()] = value.strip()
    return values
''',
        "tests/test_confread.py": """\
import pytest

from confread import MissingFileError, read


def test_values_and_includes():
    files = {"main": "a = 1\\ninclude more\\n\\nb = 2\\n", "more": "b = 3\\nc = x=4\\n"}
    assert read("main", files) == {"a": "1", "b": "2", "c": "x=4"}


def test_a_file_can_be_included_twice():
    files = {"main": "include a\\ninclude b", "a": "include c", "b": "include c", "c": "x = 1"}
    assert read("main", files) == {"x": "1"}


def test_a_missing_file():
    with pytest.raises(MissingFileError):
        read("main", {"main": "include more"})
""",
    },
    instruction="""\
# Endless recursion when a file includes itself

    >>> from confread import read
    >>> read("main", {"main": "include main"})
    Traceback (most recent call last):
      ...
    RecursionError: maximum recursion depth exceeded

The same happens with two files that include each other. Programs that catch `ConfigError` should
see one here.
""",
    fix={
        "confread.py": (
            (
                "def read(name, files):",
                'class CircularIncludeError(ConfigError):\n    """A file that includes itself."""'
                "\n\n\ndef read(name, files, _outer=()):",
            ),
            (
                "    if name not in files:",
                "    if name in _outer:\n        raise CircularIncludeError(name)\n"
                "    if name not in files:",
            ),
            ("read(line.split()[1], files)", "read(line.split()[1], files, (*_outer, name))"),
        )
    },
    hidden={
        "tests/test_confread.py": """\


def test_a_file_that_includes_itself():
    from confread import ConfigError

    with pytest.raises(ConfigError):
        read("main", {"main": "include main"})
    with pytest.raises(ConfigError):
        read("main", {"main": "include more", "more": "a = 1\\ninclude main"})
"""
    },
    right={
        "confread.py": (
            (
                "            values.update(read(line.split()[1], files))",
                "            others = {key: text for key, text in files.items() if key != name}\n"
                "            included = line.split()[1]\n"
                "            if included in files and included not in others:\n"
                '                raise ConfigError(f"{name} includes itself")\n'
                "            values.update(read(included, others))",
            ),
        )
    },
)

DEPENDENTS = QualityCase(
    name="build-dependents",
    reason="the order of the result is open, and the tests sort it",
    files={
        "README.md": """\
# build

Decides what a change of a target touches. `needs` has for each target what it is built from.
""",
        "build.py": '''\
"""What has to be built again after a change."""


def direct(needs, target):
    """The targets that need a target themselves."""
    return [name for name, needed in needs.items() if target in needed]


def dependents(needs, target):
    """All targets that have to be built again with a target."""
    return direct(needs, target)


def without_needs(needs):
    """The targets that need nothing."""
    return [name for name, needed in needs.items() if not needed]


def is_stale(built, sources):
    """Whether one of some sources is newer; times are in seconds."""
    return any(time > built for time in sources)
''',
        "tests/test_build.py": """\
import build

NEEDS = {"app": ["lib", "ui"], "lib": [], "docs": []}


def test_direct_ones():
    assert build.direct(NEEDS, "lib") == ["app"]


def test_targets_that_nobody_needs():
    assert list(build.dependents(NEEDS, "docs")) == []


def test_targets_without_needs():
    assert build.without_needs(NEEDS) == ["lib", "docs"]


def test_a_newer_source_makes_a_target_stale():
    assert build.is_stale(5, [3, 6])
    assert not build.is_stale(5, [5])
""",
    },
    instruction="""\
Our build is sometimes stale: the installer contains the program, and that contains the library,
but after a change of the library the installer is not built again.

```python
import build

needs = {"installer": ["app"], "app": ["lib"], "lib": []}
print(build.dependents(needs, "lib"))   # ['app'], but the installer is missing
```

`dependents` should contain everything that needs the target, directly or not, each once and in
whatever order.
""",
    fix={
        "build.py": (
            (
                "    return direct(needs, target)",
                "    found = []\n    waiting = [target]\n    while waiting:\n"
                "        for name in direct(needs, waiting.pop()):\n"
                "            if name not in found:\n"
                "                found.append(name)\n                waiting.append(name)\n"
                "    return found",
            ),
        )
    },
    hidden={
        "tests/test_build.py": """\


def test_everything_that_needs_a_target():
    needs = {"disk": ["setup"], "setup": ["app", "lib"], "app": ["lib"], "lib": [], "x": []}
    assert sorted(build.dependents(needs, "lib")) == ["app", "disk", "setup"]
    assert sorted(build.dependents(needs, "app")) == ["disk", "setup"]
"""
    },
    right={
        "build.py": (
            (
                "    return direct(needs, target)",
                "    found = set(direct(needs, target))\n    while True:\n"
                "        more = {name for each in found for name in direct(needs, each)}\n"
                "        if more <= found:\n            return found\n        found |= more",
            ),
        )
    },
)

ENTRIES = QualityCase(
    name="log-entry-with-its-line",
    reason="the test looks for the line's number alone, which the report asks for",
    files={
        "logfile.py": '''\
"""Read log files: `LEVEL text` in each line."""

LEVELS = ("DEBUG", "INFO", "ERROR")


def entry(line):
    """The level and the text of a line."""
    level, _, text = line.partition(" ")
    if level not in LEVELS:
        raise ValueError("no level")
    return level, text


def entries(lines, lowest="DEBUG"):
    """The entries of some lines, from a level on."""
    found = []
    for line in lines:
        level, text = entry(line)
        if LEVELS.index(level) >= LEVELS.index(lowest):
            found.append((level, text))
    return found
''',
        "tests/test_logfile.py": """\
import pytest

import logfile


def test_entries_from_a_level_on():
    lines = ["DEBUG a", "INFO b c", "ERROR d"]
    assert logfile.entries(lines, "INFO") == [("INFO", "b c"), ("ERROR", "d")]
    assert logfile.entries(lines[:1]) == [("DEBUG", "a")]


def test_a_line_without_a_level():
    with pytest.raises(ValueError, match="no level"):
        logfile.entry("oops")
""",
    },
    instruction="""\
`logfile.entries` stopped with `ValueError: no level` after eleven million lines, and I had to
bisect the file to find the bad one. Please put the number of the line into the message (the first
one is line 1).
""",
    fix={
        "logfile.py": (
            (
                "    for line in lines:\n        level, text = entry(line)\n",
                "    for number, line in enumerate(lines, start=1):\n"
                "        try:\n            level, text = entry(line)\n"
                "        except ValueError as error:\n"
                '            raise ValueError(f"{error} in line {number}") from None\n',
            ),
        )
    },
    hidden={
        "tests/test_logfile.py": """\


def test_a_bad_line_has_its_number():
    with pytest.raises(ValueError, match=r"\\b17\\b"):
        logfile.entries(["INFO fine"] * 16 + ["oops"])
"""
    },
    right={
        "logfile.py": (
            (
                "    for line in lines:\n        level, text = entry(line)\n",
                "    number = 0\n    for line in lines:\n        number += 1\n"
                "        if line.split(' ')[0] not in LEVELS:\n"
                '            raise ValueError(f"line {number}: there is no level: {line!r}")\n'
                "        level, text = entry(line)\n",
            ),
        )
    },
)

PAGES = QualityCase(
    name="pages-of-a-list",
    reason="the tests make lists of what the new function gives, which the report names",
    files={
        "README.md": """\
# paging

Helpers for lists that are shown in several parts.

    paging.page(articles, 3, size=20)
    paging.page_count(articles, 20)
""",
        "paging.py": '''\
"""Divide results into pages."""


def page(items, number, size):
    """One page; the first one has the number 1."""
    return items[(number - 1) * size : number * size]


def page_count(items, size):
    """The number of pages."""
    return -(-len(items) // size)


def links(number, count, around=2):
    """The numbers of pages that a page links to, itself among them."""
    first = max(number - around, 1)
    return list(range(first, min(number + around, count) + 1))
''',
        "tests/test_paging.py": """\
import paging


def test_one_page():
    assert paging.page([1, 2, 3], 2, 2) == [3]


def test_number_of_pages():
    assert paging.page_count([1, 2, 3], 2) == 2


def test_links_to_near_pages():
    assert paging.links(1, 9) == [1, 2, 3]
    assert paging.links(5, 6, around=1) == [4, 5, 6]
""",
    },
    instruction="""\
I call `paging.page` in a loop in three places now. Could you add `paging.pages(items, size)` that
goes through all pages in turn? `items` can be anything that can be iterated over, a generator, too.
""",
    fix={
        "paging.py": (
            (
                "def page_count(items, size):",
                '''\
def pages(items, size):
    """All pages, one by one."""
    waiting = []
    for item in items:
        waiting.append(item)
        if len(waiting) == size:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def page_count(items, size):''',
            ),
        )
    },
    hidden={
        "tests/test_paging.py": """\


def test_all_pages():
    assert [list(each) for each in paging.pages([1, 2, 3], 2)] == [[1, 2], [3]]
    assert [list(each) for each in paging.pages(iter("abcd"), 2)] == [["a", "b"], ["c", "d"]]


def test_pages_of_nothing():
    assert list(paging.pages([], 2)) == []
"""
    },
    right={
        "paging.py": (
            (
                "def page_count(items, size):",
                '''\
def pages(items, size):
    """The pages as tuples."""
    whole = tuple(items)
    return [whole[at : at + size] for at in range(0, len(whole), size)]


def page_count(items, size):''',
            ),
        )
    },
)

CALCULATOR = QualityCase(
    name="calculator-with-signs",
    reason="the reference has new private functions, and the tests use the public one alone",
    files={
        "calculator.py": '''\
"""Values of expressions with +, -, * and /."""

import re

_TOKEN = re.compile(r"\\s*(\\d+|[-+*/])")


def tokens(text):
    """The tokens of an expression."""
    found = _TOKEN.findall(text)
    if "".join(found) != re.sub(r"\\s", "", text):
        raise ValueError(f"unknown signs in {text!r}")
    return found


def value(text):
    """The value of an expression."""
    rest = tokens(text)
    result = _product(rest)
    while rest:
        result = result + _product(rest) if rest.pop(0) == "+" else result - _product(rest)
    return result


def _product(rest):
    result = int(rest.pop(0))
    while rest and rest[0] in "*/":
        operator, number = rest.pop(0), int(rest.pop(0))
        result = result * number if operator == "*" else result / number
    return result
''',
        "tests/test_calculator.py": """\
import pytest

import calculator


def test_expressions():
    assert calculator.value("2 + 3 * 4 - 6 / 2") == 11


def test_other_signs_are_refused():
    with pytest.raises(ValueError, match="unknown signs"):
        calculator.value("2 ^ 3")
""",
    },
    instruction="""\
A number cannot have a sign:

    >>> from calculator import value
    >>> value("3 * -2")
    Traceback (most recent call last):
      ...
    ValueError: invalid literal for int() with base 10: '-'

This should be `-6`, and `value("-2 + 5")` should be 3. Two signs as in `--2` are fine, too.
""",
    fix={
        "calculator.py": (
            ("    result = int(rest.pop(0))", "    result = _signed_number(rest)"),
            ("rest.pop(0), int(rest.pop(0))", "rest.pop(0), _signed_number(rest)"),
            (
                "def _product(rest):",
                """\
def _signed_number(rest):
    token = rest.pop(0)
    return -_signed_number(rest) if token == "-" else int(token)


def _product(rest):""",
            ),
        )
    },
    hidden={
        "tests/test_calculator.py": """\


def test_numbers_with_signs():
    assert calculator.value("3 * -2") == -6
    assert calculator.value("-2 + 5") == 3
    assert calculator.value("6 / --2 - -1") == 4
"""
    },
    right={
        "calculator.py": (
            ("    result = int(rest.pop(0))", "    result = int(_take(rest))"),
            ("rest.pop(0), int(rest.pop(0))", "rest.pop(0), int(_take(rest))"),
            (
                "def _product(rest):",
                """\
def _take(rest):
    signs = 0
    while rest[0] == "-":
        signs += 1
        del rest[0]
    return "-" * (signs % 2) + rest.pop(0)


def _product(rest):""",
            ),
        )
    },
)

STATUS = QualityCase(
    name="status-as-json",
    reason="the tests read the JSON, so that order and white space do not count",
    files={
        "status.py": '''\
"""The status of a service, as its page prints it."""

import json
from dataclasses import dataclass


@dataclass
class Status:
    """What is known of a service."""

    name: str
    is_up: bool
    seconds: float = 0.0


def as_text(status):
    """The status in words."""
    return f"{status.name} is {'up' if status.is_up else 'down'} since {status.seconds:g} s"


def as_json(status):
    """The status for other programs: `name`, `is_up` and `seconds`."""
    return json.dumps({"name": status.name, "is_up": str(status.is_up)})
''',
        "tests/test_status.py": """\
import json

from status import Status, as_json, as_text


def test_status_in_words():
    assert as_text(Status("db", True, 12.5)) == "db is up since 12.5 s"
    assert as_text(Status("db", False)) == "db is down since 0 s"


def test_status_has_the_name():
    assert json.loads(as_json(Status("db", True)))["name"] == "db"
""",
    },
    instruction="""\
# as_json is not usable

    >>> from status import Status, as_json
    >>> as_json(Status("db", False, 12.5))
    '{"name": "db", "is_up": "False"}'

In JavaScript the text "False" is true, so that our page shows everything as up; `is_up` must be
`true` or `false`. And `seconds`, which is documented, is missing.
""",
    fix={
        "status.py": (
            (
                '    return json.dumps({"name": status.name, "is_up": str(status.is_up)})',
                '    return json.dumps({"name": status.name, "is_up": status.is_up, '
                '"seconds": status.seconds})',
            ),
        )
    },
    hidden={
        "tests/test_status.py": """\


def test_status_for_programs():
    found = json.loads(as_json(Status("db", False, 12.5)))
    assert found == {"name": "db", "is_up": False, "seconds": 12.5}
"""
    },
    right={
        "status.py": (
            ("import dataclass\n", "import asdict, dataclass\n"),
            (
                '    return json.dumps({"name": status.name, "is_up": str(status.is_up)})',
                "    return json.dumps(asdict(status), indent=1, sort_keys=True)",
            ),
        )
    },
)

FAIR = (
    EXPORT,
    COMMENTS,
    TODO,
    PROXY,
    INCLUDES,
    DEPENDENTS,
    ENTRIES,
    PAGES,
    CALCULATOR,
    STATUS,
)
