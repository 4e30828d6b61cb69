"""Tasks whose tests need a name that nothing gives, each with a fair twin."""

from dataclasses import replace

from tests.corpora.task_quality.case import QualityCase, UnfairKind

DURATIONS = QualityCase(
    name="durations-back-to-text",
    kind=UnfairKind.UNSTATED,
    unstated="humanize",
    reason="the tests call the new function `humanize`; the report gives no name",
    files={
        "durations.py": '''\
"""Durations as people write them: 1h30m, 45s, 2d."""

import re

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_PART = re.compile(r"(\\d+)([dhms])")


def parse(text):
    """The seconds of a duration such as 1h30m."""
    stripped = text.strip().lower()
    if not stripped or _PART.sub("", stripped):
        raise ValueError(f"not a duration: {text!r}")
    return sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(stripped))


def total(texts):
    """The seconds of several durations."""
    return sum(map(parse, texts))
''',
        "tests/test_durations.py": """\
import pytest

import durations


def test_units_add_up():
    assert durations.parse("1h30m") == 5400
    assert durations.parse(" 2D ") == 172800


def test_other_texts_are_refused():
    with pytest.raises(ValueError, match="not a duration"):
        durations.parse("soon")


def test_total():
    assert durations.total(["1m", "5s"]) == 65
""",
    },
    instruction="""\
# No way back from seconds

We read limits like `1h30m` from our job files with `durations.parse` and that works well. In the
log we then show how long a job really took. The library knows no way back, so the log says `5400`
where everybody wants to read `1h30m`.

Could this be added? Units that are zero should not appear (`1h` instead of `1h0m0s`), days come
first, and a job that took no time at all is `0s`. Whole seconds are enough.
""",
    fix={
        "durations.py": (
            (
                "def total(texts):",
                '''\
def humanize(seconds):
    """A duration such as 1h30m for a number of seconds."""
    parts = []
    for unit, size in _UNITS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def total(texts):''',
            ),
        )
    },
    hidden={
        "tests/test_durations.py": """\


def test_seconds_as_text():
    assert durations.humanize(5400) == "1h30m"
    assert durations.humanize(3600) == "1h"
    assert durations.humanize(90061) == "1d1h1m1s"


def test_no_time_at_all():
    assert durations.humanize(0) == "0s"
"""
    },
    right={
        "durations.py": (
            (
                "def total(texts):",
                '''\
def from_seconds(seconds):
    """The shortest text that parse reads as so many seconds."""
    text = ""
    for unit in "dhms":
        text += f"{seconds // _UNITS[unit]}{unit}" if seconds >= _UNITS[unit] else ""
        seconds %= _UNITS[unit]
    return text if text else "0s"


def total(texts):''',
            ),
        )
    },
)

BACKOFF = QualityCase(
    name="backoff-spread-out",
    kind=UnfairKind.UNSTATED,
    unstated="jitter",
    reason="the tests give the new keyword `jitter`; the report speaks of a share alone",
    files={
        "backoff.py": '''\
"""Waits of a client between its attempts."""

import time


class Backoff:
    """Waits that double from one attempt to the next."""

    def __init__(self, first=1.0, longest=60.0):
        self.first = first
        self.longest = longest

    def wait(self, attempt):
        """The seconds to wait after an attempt; the first one is 0."""
        return min(self.first * 2**attempt, self.longest)


def call(function, backoff, attempts=5, sleep=time.sleep):
    """Call a function until it does not lose its connection."""
    for attempt in range(attempts - 1):
        try:
            return function()
        except ConnectionError:
            sleep(backoff.wait(attempt))
    return function()
''',
        "tests/test_backoff.py": """\
import pytest

from backoff import Backoff, call


def test_waits_double_up_to_the_longest():
    backoff = Backoff(first=2, longest=10)
    assert [backoff.wait(attempt) for attempt in range(4)] == [2, 4, 8, 10]
    assert Backoff().wait(0) == 1
    assert Backoff().wait(10) == 60


def test_a_call_is_repeated():
    waits, results = [], iter([ConnectionError, ConnectionError, "done"])

    def function():
        result = next(results)
        if result is ConnectionError:
            raise result
        return result

    assert call(function, Backoff(), sleep=waits.append) == "done"
    assert waits == [1.0, 2.0]


def test_the_last_error_is_raised():
    def function():
        raise ConnectionError

    with pytest.raises(ConnectionError):
        call(function, Backoff(), attempts=2, sleep=lambda _: None)
""",
    },
    instruction="""\
Last night the broker restarted. All 400 workers lost their connections in the same second, all of
them waited 1 s, 2 s, 4 s ... and all of them came back in the same second, each time, until the
broker went down again.

Waits should be spread out: each wait is shortened by a random part of it. I want to set the
largest part of a wait that may be cut off, from 0 (that is what happens today and should stay the
default) to 1.
""",
    fix={
        "backoff.py": (
            ("import time", "import random\nimport time"),
            (
                "longest=60.0):\n        self.first = first",
                "longest=60.0, jitter=0.0):\n"
                "        self.jitter = jitter\n        self.first = first",
            ),
            (
                "        return min(self.first * 2**attempt, self.longest)",
                "        whole = min(self.first * 2**attempt, self.longest)\n"
                "        return whole * (1 - self.jitter * random.random())",
            ),
        )
    },
    hidden={
        "tests/test_jitter.py": """\
import random

from backoff import Backoff


def test_a_part_of_each_wait_is_cut_off():
    backoff = Backoff(first=8, jitter=0.5)
    waits = {backoff.wait(0) for _ in range(200)}
    assert len(waits) > 100
    assert all(4 <= wait <= 8 for wait in waits)
    assert min(waits) < 5
    assert max(waits) > 7


def test_the_longest_wait_is_shortened_too():
    random.seed(3)
    backoff = Backoff(first=8, longest=16, jitter=1)
    waits = [backoff.wait(9) for _ in range(200)]
    assert 0 <= min(waits) < 2
    assert 14 < max(waits) <= 16
    assert Backoff(first=8).wait(0) == 8
"""
    },
    right={
        "backoff.py": (
            ("import time", "import random\nimport time"),
            (
                "longest=60.0):\n        self.first = first",
                "longest=60.0, spread=0.0):\n"
                "        self.spread = spread\n        self.first = first",
            ),
            (
                "        return min(self.first * 2**attempt, self.longest)",
                "        whole = min(self.first * 2**attempt, self.longest)\n"
                "        return random.uniform(whole * (1 - self.spread), whole)",
            ),
        )
    },
)

SETTINGS = QualityCase(
    name="settings-file-of-the-environment",
    kind=UnfairKind.UNSTATED,
    unstated="MAILER_SETTINGS",
    reason="the tests set the new environment variable `MAILER_SETTINGS`; nothing names it",
    files={
        "mailer/__init__.py": "",
        "mailer/settings.py": '''\
"""Settings of the mailer: the defaults, and a file that changes some of them."""

import json
import os
from pathlib import Path

DEFAULTS = {"host": "localhost", "port": 25, "sender": "noreply@localhost"}


def settings_file(environ):
    """The file with the settings of this user."""
    return Path(environ.get("HOME", "/")) / ".mailer.json"


def load(environ=None):
    """The settings as a dict."""
    path = settings_file(os.environ if environ is None else environ)
    values = dict(DEFAULTS)
    if path.is_file():
        values.update(json.loads(path.read_text()))
    return values
''',
        "tests/test_settings.py": """\
from pathlib import Path

from mailer.settings import DEFAULTS, load, settings_file


def test_a_user_without_a_home_has_a_file():
    assert settings_file({}) == Path("/.mailer.json")


def test_defaults(tmp_path):
    assert load({"HOME": str(tmp_path)}) == DEFAULTS


def test_a_file_changes_some(tmp_path):
    (tmp_path / ".mailer.json").write_text('{"port": 2525}')
    assert load({"HOME": str(tmp_path)}) == {**DEFAULTS, "port": 2525}
""",
    },
    instruction="""\
The jobs of our CI share one home folder, and each of them needs other settings of the mailer. We
cannot write `~/.mailer.json` there, because the jobs run at the same time.

Please let an environment variable say which file is read. When it is not set or empty, the file
in the home folder is read as before.
""",
    fix={
        "mailer/settings.py": (
            (
                '    return Path(environ.get("HOME", "/")) / ".mailer.json"',
                '    named = environ.get("MAILER_SETTINGS")\n'
                "    if named:\n        return Path(named)\n"
                '    return Path(environ.get("HOME", "/")) / ".mailer.json"',
            ),
        )
    },
    hidden={
        "tests/test_settings.py": """\


def test_the_environment_names_the_file(tmp_path):
    (tmp_path / ".mailer.json").write_text('{"port": 2525}')
    (tmp_path / "job.json").write_text('{"port": 26}')
    home = {"HOME": str(tmp_path)}
    assert load({**home, "MAILER_SETTINGS": str(tmp_path / "job.json")})["port"] == 26
    assert load({**home, "MAILER_SETTINGS": ""})["port"] == 2525
"""
    },
    right={
        "mailer/settings.py": (
            (
                '    return Path(environ.get("HOME", "/")) / ".mailer.json"',
                '    home = Path(environ.get("HOME", "/"))\n'
                '    return Path(environ.get("MAILER_CONFIG") or home / ".mailer.json")',
            ),
        )
    },
)

LINE_COUNT = QualityCase(
    name="line-count-without-files",
    kind=UnfairKind.UNSTATED,
    unstated="--summary",
    reason="the tests give the new option `--summary`; the report names no option",
    files={
        "linecount.py": '''\
"""Count the lines of files: linecount [--no-blank] FILE..."""

import argparse
import sys


def count(path, *, blank=True):
    """The lines of a file, on request without blank ones."""
    with open(path) as file:
        return sum(1 for line in file if blank or line.strip())


def parser():
    """The options of the command."""
    result = argparse.ArgumentParser()
    result.add_argument("--no-blank", action="store_true")
    result.add_argument("files", nargs="+")
    return result


def main(argv):
    """Print a line for each file, and the sum."""
    options = parser().parse_args(argv)
    total = 0
    for path in options.files:
        lines = count(path, blank=not options.no_blank)
        print(f"{lines} {path}")
        total += lines
    print(f"{total} total")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
''',
        "tests/test_linecount.py": """\
import pytest

from linecount import main


@pytest.fixture
def two(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("1\\n\\n3\\n")
    (tmp_path / "b.txt").write_text("1\\n")
    return ["a.txt", "b.txt"]


def test_lines_of_each_file(two, capsys):
    assert main(two) == 0
    assert capsys.readouterr().out == "3 a.txt\\n1 b.txt\\n4 total\\n"


def test_blank_lines_can_be_left_out(two, capsys):
    main(["--no-blank", *two])
    assert capsys.readouterr().out == "2 a.txt\\n1 b.txt\\n3 total\\n"
""",
    },
    instruction="""\
I run linecount over a tree of 12,000 files, and the terminal scrolls for half a minute before I
see the one number that I am interested in. (`| tail -1` works but is one more thing to type.)

Please add an option so that just the line with the sum is printed. It should work together with
`--no-blank`.
""",
    fix={
        "linecount.py": (
            (
                '    result.add_argument("files", nargs="+")',
                '    result.add_argument("--summary", action="store_true")\n'
                '    result.add_argument("files", nargs="+")',
            ),
            (
                '        print(f"{lines} {path}")',
                '        if not options.summary:\n            print(f"{lines} {path}")',
            ),
        )
    },
    hidden={
        "tests/test_linecount.py": """\


def test_the_sum_alone(two, capsys):
    assert main(["--summary", *two]) == 0
    assert capsys.readouterr().out == "4 total\\n"


def test_the_sum_without_blank_lines(two, capsys):
    main(["--no-blank", "--summary", *two])
    assert capsys.readouterr().out == "3 total\\n"
"""
    },
    right={
        "linecount.py": (
            (
                '    result.add_argument("files", nargs="+")',
                '    result.add_argument("-q", "--quiet", action="store_true")\n'
                '    result.add_argument("files", nargs="+")',
            ),
            (
                '        print(f"{lines} {path}")',
                '        if not options.quiet:\n            print(f"{lines} {path}")',
            ),
        )
    },
)

STORE = QualityCase(
    name="full-store-drops-silently",
    kind=UnfairKind.UNSTATED,
    unstated="StoreFullError",
    reason="the tests expect the new exception `StoreFullError`; the report says an error",
    files={
        "store.py": '''\
"""A store for session data with a limited number of entries."""


class Store:
    """Entries by key; the limit is a number of entries."""

    def __init__(self, limit):
        self.limit = limit
        self._entries = {}

    def put(self, key, value):
        """Store a value, or replace the one that is there."""
        if key in self._entries or len(self._entries) < self.limit:
            self._entries[key] = value

    def get(self, key, default=None):
        """The value of a key."""
        return self._entries.get(key, default)

    def remove(self, key):
        """Remove a key; one that is not there is no error."""
        self._entries.pop(key, None)

    def __len__(self):
        return len(self._entries)
''',
        "tests/test_store.py": """\
from store import Store


def test_values_are_stored_and_replaced():
    store = Store(2)
    store.put("a", 1)
    store.put("a", 2)
    assert store.get("a") == 2
    assert len(store) == 1


def test_removal_makes_room():
    store = Store(1)
    store.put("a", 1)
    store.remove("a")
    store.put("b", 2)
    assert store.get("b") == 2
    assert store.get("a") is None
""",
    },
    instruction="""\
# put() loses data without a word

```python
store = Store(1)
store.put("alice", 1)
store.put("bob", 2)      # no room any more
store.get("bob")         # None
```

It took us two days to find out why some users were logged out at once. When there is no room for
a new key, `put` should raise an error. Keys that are there already can be replaced, as today.
""",
    fix={
        "store.py": (
            (
                "class Store:",
                'class StoreFullError(Exception):\n    """There is no room for a new key."""\n\n\n'
                "class Store:",
            ),
            (
                "        if key in self._entries or len(self._entries) < self.limit:\n"
                "            self._entries[key] = value",
                "        if key not in self._entries and len(self._entries) >= self.limit:\n"
                "            raise StoreFullError(key)\n"
                "        self._entries[key] = value",
            ),
        )
    },
    hidden={
        "tests/test_full_store.py": """\
import pytest

import store as module
from store import Store


def test_a_full_store_refuses_new_keys():
    store = Store(1)
    store.put("alice", 1)
    with pytest.raises(module.StoreFullError):
        store.put("bob", 2)
    store.put("alice", 3)
    assert store.get("alice") == 3
    assert len(store) == 1
"""
    },
    right={
        "store.py": (
            (
                "        if key in self._entries or len(self._entries) < self.limit:\n"
                "            self._entries[key] = value",
                "        if key not in self._entries and len(self) >= self.limit:\n"
                '            raise OverflowError(f"no room for {key!r}")\n'
                "        self._entries[key] = value",
            ),
        )
    },
)

NOTES = QualityCase(
    name="notes-with-a-backup",
    kind=UnfairKind.UNSTATED,
    unstated=".bak",
    reason="the tests look for the new file `notes.txt.bak`; the report does not say its name",
    files={
        "README.md": """\
# notes

    python notes.py FILE TEXT...

Adds a line with the text to the end of a file.
""",
        "notes.py": '''\
"""Add notes to a file: notes FILE TEXT..."""

import sys
from pathlib import Path


def read(path):
    """The notes of a file; none if it is not there."""
    return path.read_text().splitlines() if path.exists() else []


def write(path, notes):
    """Write notes to a file."""
    path.write_text("".join(f"{note}\\n" for note in notes))


def main(argv):
    """Add a note, and print how many there are."""
    path = Path(argv[0])
    notes = [*read(path), " ".join(argv[1:])]
    write(path, notes)
    print(f"{len(notes)} notes")


if __name__ == "__main__":
    main(sys.argv[1:])
''',
        "tests/test_notes.py": """\
import pytest

import notes


@pytest.fixture
def path(tmp_path):
    return tmp_path / "notes.txt"


def test_notes_are_added(path, capsys):
    notes.main([str(path), "buy", "milk"])
    notes.main([str(path), "sleep"])
    assert path.read_text() == "buy milk\\nsleep\\n"
    assert capsys.readouterr().out == "1 notes\\n2 notes\\n"


def test_a_missing_file_has_no_notes(path):
    assert notes.read(path) == []
""",
    },
    instruction="""\
My disk was full yesterday while I added a note, and the file was empty afterwards. Everything that
I had noted since 2019 is gone.

Before `write` replaces a file that exists, it should copy what was in it to a second file in the
same folder, so that there is always one that is whole. The copy of the time before can be
overwritten.
""",
    fix={
        "notes.py": (
            (
                '    """Write notes to a file."""\n',
                '    """Write notes to a file."""\n'
                "    if path.exists():\n"
                '        backup = path.with_name(f"{path.name}.bak")\n'
                "        backup.write_bytes(path.read_bytes())\n",
            ),
        )
    },
    hidden={
        "tests/test_notes.py": """\


def test_the_former_notes_are_copied(path):
    notes.write(path, ["a"])
    assert [each.name for each in path.parent.iterdir()] == ["notes.txt"]
    for note in ("b", "c"):
        notes.write(path, [note])
    assert path.read_text() == "c\\n"
    assert (path.parent / "notes.txt.bak").read_text() == "b\\n"
"""
    },
    right={
        "notes.py": (
            (
                '    """Write notes to a file."""\n',
                '    """Write notes to a file."""\n'
                "    if path.is_file():\n"
                '        Path(f"{path}~").write_text(path.read_text())\n',
            ),
        )
    },
)

NARROW = (DURATIONS, BACKOFF, SETTINGS, LINE_COUNT, STORE, NOTES)


def _stated(case: QualityCase, words: str, reason: str, **changes: object) -> QualityCase:
    """The same task with a report that says more."""
    return replace(
        case,
        name=f"{case.name}-stated",
        instruction=f"{case.instruction}\n{words}",
        kind=None,
        unstated="",
        reason=reason,
        **changes,
    )


FAIR = (
    _stated(
        DURATIONS,
        "I would call it `durations.humanize(seconds)`.\n",
        "the report names the new function",
        right={
            "durations.py": (
                (
                    "def total(texts):",
                    '''\
def humanize(seconds):
    """The shortest text that parse reads as so many seconds."""
    text = ""
    for unit in "dhms":
        text += f"{seconds // _UNITS[unit]}{unit}" if seconds >= _UNITS[unit] else ""
        seconds %= _UNITS[unit]
    return text if text else "0s"


def total(texts):''',
                ),
            )
        },
    ),
    _stated(
        BACKOFF,
        "Other clients write `Backoff(jitter=0.5)` for this, which I would keep.\n",
        "the report names the new keyword",
        right={
            "backoff.py": (
                ("import time", "import random\nimport time"),
                (
                    "longest=60.0):\n        self.first = first",
                    "longest=60.0, *, jitter=0.0):\n"
                    "        self._share = jitter\n        self.first = first",
                ),
                (
                    "        return min(self.first * 2**attempt, self.longest)",
                    "        whole = min(self.first * 2**attempt, self.longest)\n"
                    "        return random.uniform(whole * (1 - self._share), whole)",
                ),
            )
        },
    ),
    _stated(
        SETTINGS,
        "`MAILER_SETTINGS` would be a good name.\n",
        "the report names the new environment variable",
        right={
            "mailer/settings.py": (
                (
                    '    return Path(environ.get("HOME", "/")) / ".mailer.json"',
                    '    home = Path(environ.get("HOME", "/"))\n'
                    '    return Path(environ.get("MAILER_SETTINGS") or home / ".mailer.json")',
                ),
            )
        },
    ),
    _stated(
        NOTES,
        "Other programs append `.bak` to the name of the file for this.\n",
        "the report gives the ending of the new file",
        right={
            "notes.py": (
                (
                    '    """Write notes to a file."""\n',
                    '    """Write notes to a file."""\n'
                    "    if path.is_file():\n"
                    '        Path(f"{path}.bak").write_text(path.read_text())\n',
                ),
            )
        },
    ),
    _stated(
        STORE,
        "I need to catch just this one, so please add a class `StoreFullError` to `store`.\n",
        "the report names the new exception",
        right={
            "store.py": (
                (
                    "class Store:",
                    "class StoreFullError(OverflowError):\n"
                    '    """One entry more than the limit."""\n\n\nclass Store:',
                ),
                (
                    "        if key in self._entries or len(self._entries) < self.limit:\n"
                    "            self._entries[key] = value",
                    "        if len({*self._entries, key}) > self.limit:\n"
                    '            raise StoreFullError(f"no room for {key!r}")\n'
                    "        self._entries[key] = value",
                ),
            )
        },
    ),
)
