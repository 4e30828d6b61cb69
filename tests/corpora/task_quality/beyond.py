"""Tasks whose tests ask for more than their reports, two with a fair twin."""

from dataclasses import replace

from tests.corpora.task_quality.case import QualityCase, UnfairKind

SLUGS = QualityCase(
    name="slugs-with-accents",
    kind=UnfairKind.BEYOND,
    reason="the report shows accents; a test also asks that hyphens at the ends go",
    files={
        "README.md": """\
# slugs

Titles of posts become parts of URLs: `Hello, World` is at `/2024/hello-world/`.
""",
        "slugs.py": '''\
"""Names of pages in URLs."""

import re


def slugify(title):
    """A title as a part of a URL."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower())


def unique(slug, taken):
    """The slug, with a number if it is taken."""
    if slug not in taken:
        return slug
    number = 2
    while f"{slug}-{number}" in taken:
        number += 1
    return f"{slug}-{number}"


def path(year, title, taken=()):
    """The path of a post."""
    return f"/{year}/{unique(slugify(title), taken)}/"
''',
        "tests/test_slugs.py": """\
import slugs


def test_words_are_joined():
    assert slugs.slugify("Hello,  World 2") == "hello-world-2"


def test_numbers_make_slugs_unique():
    assert slugs.unique("a", set()) == "a"
    assert slugs.unique("a", {"a", "a-2"}) == "a-3"


def test_paths_of_posts():
    assert slugs.path(2024, "Hello World", {"hello-world"}) == "/2024/hello-world-2/"
""",
    },
    instruction="""\
# Letters with accents are cut out of URLs

    >>> from slugs import slugify
    >>> slugify("Crème brûlée maison")
    'cr-me-br-l-e-maison'

Nobody can read that. I expected

    >>> slugify("Crème brûlée maison")
    'creme-brulee-maison'

as the accents can just be dropped.
""",
    fix={
        "slugs.py": (
            ("import re\n", "import re\nimport unicodedata\n"),
            (
                '    return re.sub(r"[^a-z0-9]+", "-", title.lower())',
                '    apart = unicodedata.normalize("NFKD", title)\n'
                '    plain = "".join(each for each in apart if not unicodedata.combining(each))\n'
                '    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")',
            ),
        )
    },
    hidden={
        "tests/test_slugs.py": """\


def test_accents_are_dropped():
    assert slugs.slugify("Crème brûlée") == "creme-brulee"


def test_no_hyphens_at_the_ends():
    assert slugs.slugify("-- What now?") == "what-now"
"""
    },
    right={
        "slugs.py": (
            ("import re\n", "import re\nimport unicodedata\n"),
            (
                '    return re.sub(r"[^a-z0-9]+", "-", title.lower())',
                '    decomposed = unicodedata.normalize("NFD", title.lower())\n'
                '    plain = re.sub("[\\u0300-\\u036f]", "", decomposed)\n'
                '    return re.sub(r"[^a-z0-9]+", "-", plain)',
            ),
        )
    },
)

INTERVALS = QualityCase(
    name="intervals-that-touch",
    kind=UnfairKind.BEYOND,
    reason="the report shows intervals that touch; a test also turns round reversed ones",
    files={
        "README.md": """\
# intervals

Time sheets: a pair of hours for each row, such as `(8, 12)`.
""",
        "intervals.py": '''\
"""Intervals of working time, each a pair of hours."""


def merged(intervals):
    """The intervals in order, with those that overlap made one."""
    result = []
    for start, end in sorted(intervals):
        if result and start < result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def hours(intervals):
    """The hours that some intervals cover."""
    return sum(end - start for start, end in merged(intervals))


def gaps(intervals):
    """The intervals between some intervals."""
    ordered = merged(intervals)
    return [(one[1], other[0]) for one, other in zip(ordered, ordered[1:])]
''',
        "tests/test_intervals.py": """\
import intervals


def test_overlapping_intervals_become_one():
    assert intervals.merged([(8, 11), (10, 12), (14, 15)]) == [(8, 12), (14, 15)]
    assert intervals.merged([(8, 12), (9, 10)]) == [(8, 12)]


def test_hours():
    assert intervals.hours([(8, 11), (10, 12)]) == 4


def test_gaps():
    assert intervals.gaps([(14, 15), (8, 10), (9, 12)]) == [(12, 14)]
""",
    },
    instruction="""\
Our time sheets have a row for each project, so that one row starts when the other one ends. In
the overview such a day should be one interval:

```python
from intervals import merged

merged([(8, 10), (10, 12)])
# wrong: [(8, 10), (10, 12)]
# right: [(8, 12)]
```
""",
    fix={
        "intervals.py": (
            (
                "    for start, end in sorted(intervals):\n        if result and start <",
                "    for start, end in sorted((min(pair), max(pair)) for pair in intervals):\n"
                "        if result and start <=",
            ),
        )
    },
    hidden={
        "tests/test_intervals.py": """\


def test_intervals_that_touch_become_one():
    assert intervals.merged([(8, 10), (10, 12)]) == [(8, 12)]


def test_reversed_intervals_are_turned_round():
    assert intervals.merged([(12, 10), (8, 9)]) == [(8, 9), (10, 12)]
"""
    },
    right={"intervals.py": (("start < result[-1][1]", "result[-1][1] >= start"),)},
)

QUERIES = QualityCase(
    name="orm-where-none",
    kind=UnfairKind.BEYOND,
    reason="the report speaks of None alone; a test also gives a list and wants `IN`",
    files={
        "orm.py": '''\
"""A query builder for SQLite."""


class Query:
    """A query of one table; each method returns a further one."""

    def __init__(self, table, conditions=(), values=()):
        self.table = table
        self.conditions = conditions
        self.values = values

    def where(self, **columns):
        """Only rows with these values."""
        query = self
        for name, value in columns.items():
            query = Query(
                self.table, (*query.conditions, f"{name} = ?"), (*query.values, value)
            )
        return query

    def sql(self):
        """The query as text."""
        text = f"SELECT * FROM {self.table}"
        if self.conditions:
            text += " WHERE " + " AND ".join(self.conditions)
        return text

    def rows(self, connection):
        """All rows."""
        return connection.execute(self.sql(), self.values).fetchall()
''',
        "tests/test_orm.py": """\
import sqlite3

import pytest

from orm import Query


@pytest.fixture
def users():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE users (name, city)")
    rows = [("ann", "Rome"), ("bob", None), ("cy", "Bonn"), ("di", "Rome")]
    connection.executemany("INSERT INTO users VALUES (?, ?)", rows)
    return connection


def names(query, users):
    return sorted(name for name, _ in query.rows(users))


def test_all_rows(users):
    assert len(Query("users").rows(users)) == 4


def test_conditions_are_joined(users):
    query = Query("users").where(city="Rome")
    assert names(query, users) == ["ann", "di"]
    assert names(query.where(name="di", city="Rome"), users) == ["di"]
""",
    },
    instruction="""\
Rows without a value cannot be found:

```python
import sqlite3

from orm import Query

connection = sqlite3.connect(":memory:")
connection.execute("CREATE TABLE users (name, city)")
connection.execute("INSERT INTO users VALUES ('bob', NULL)")
print(Query("users").where(city=None).rows(connection))  # [] instead of [('bob', None)]
```

SQLite says that `city = NULL` is never true. I would expect the rows whose city is NULL, also
together with other conditions (`.where(city=None, name="bob")`).
""",
    fix={
        "orm.py": (
            (
                """\
            query = Query(
                self.table, (*query.conditions, f"{name} = ?"), (*query.values, value)
            )
""",
                """\
            if value is None:
                condition, values = f"{name} IS NULL", ()
            elif isinstance(value, list):
                marks = ", ".join("?" for _ in value)
                condition, values = f"{name} IN ({marks})", value
            else:
                condition, values = f"{name} = ?", (value,)
            query = Query(
                self.table, (*query.conditions, condition), (*query.values, *values)
            )
""",
            ),
        )
    },
    hidden={
        "tests/test_orm.py": """\


def test_rows_without_a_value(users):
    assert names(Query("users").where(city=None), users) == ["bob"]
    assert names(Query("users").where(city=None, name="bob"), users) == ["bob"]
    assert names(Query("users").where(name="ann", city=None), users) == []


def test_rows_with_one_of_several_values(users):
    assert names(Query("users").where(name=["ann", "bob", "x"], city="Rome"), users) == ["ann"]
    assert names(Query("users").where(city=["Bonn", "Rome"]), users) == ["ann", "cy", "di"]
"""
    },
    right={"orm.py": (('f"{name} = ?"', 'f"{name} IS ?"'),)},
)

PLAYLIST = QualityCase(
    name="playlist-last-line",
    kind=UnfairKind.BEYOND,
    reason="the report has a traceback for an empty line; a test also has a mark at the start",
    files={
        "playlist.py": '''\
"""Read playlists: a line for each song, with its seconds, its artist and its title."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Song:
    """A song of a playlist."""

    seconds: int
    artist: str
    title: str


def read(text):
    """The songs in the text of a playlist."""
    songs = []
    for line in text.split("\\n"):
        seconds, artist, title = line.split(";", 2)
        songs.append(Song(int(seconds), artist.strip(), title.strip()))
    return songs


def duration(songs):
    """The length of some songs, such as 4:05."""
    minutes, seconds = divmod(sum(song.seconds for song in songs), 60)
    return f"{minutes}:{seconds:02}"
''',
        "tests/test_playlist.py": """\
import pytest

from playlist import Song, duration, read


def test_songs_are_read():
    assert read("65; Can ;Vitamin C\\n180;Neu!;Hero; live") == [
        Song(65, "Can", "Vitamin C"),
        Song(180, "Neu!", "Hero; live"),
    ]


def test_a_line_without_a_title_is_refused():
    with pytest.raises(ValueError, match="not enough values"):
        read("65;Can")


def test_duration():
    assert duration([Song(65, "", ""), Song(180, "", "")]) == "4:05"
""",
    },
    instruction="""\
Playlists that my editor saved cannot be read, as it ends the last line with a newline:

    >>> import playlist
    >>> playlist.read("65;Can;Vitamin C\\n")
    Traceback (most recent call last):
      File "<stdin>", line 1, in <module>
      File "playlist.py", line 19, in read
        seconds, artist, title = line.split(";", 2)
        ^^^^^^^^^^^^^^^^^^^^^^
    ValueError: not enough values to unpack (expected 3, got 1)

Empty lines, or such with nothing but blanks, should be skipped wherever they are.
""",
    fix={
        "playlist.py": (
            (
                '    for line in text.split("\\n"):\n',
                '    for line in text.removeprefix("\\ufeff").split("\\n"):\n'
                "        if not line.strip():\n            continue\n",
            ),
        )
    },
    hidden={
        "tests/test_playlist.py": """\


def test_empty_lines_are_skipped():
    assert read("65;Can;Vitamin C\\n \\n\\n5;Neu!;Hero\\n") == [
        Song(65, "Can", "Vitamin C"),
        Song(5, "Neu!", "Hero"),
    ]


def test_a_byte_order_mark_is_skipped():
    assert read("\\ufeff65;Can;Vitamin C") == [Song(65, "Can", "Vitamin C")]
"""
    },
    right={
        "playlist.py": (
            (
                '    for line in text.split("\\n"):\n',
                '    for line in filter(str.strip, text.split("\\n")):\n',
            ),
        )
    },
)

NARROW = (SLUGS, INTERVALS, QUERIES, PLAYLIST)
FAIR = (
    replace(
        SLUGS,
        name="slugs-with-accents-asked",
        kind=None,
        reason="the report asks for both",
        instruction=f"""\
{SLUGS.instruction}
And `slugify("-- What now?")` should be `'what-now'`, without hyphens at its ends.
""",
        right={
            "slugs.py": (
                ("import re\n", "import re\nimport unicodedata\n"),
                (
                    '    return re.sub(r"[^a-z0-9]+", "-", title.lower())',
                    '    decomposed = unicodedata.normalize("NFD", title.lower())\n'
                    '    plain = re.sub("[\\u0300-\\u036f]", "", decomposed)\n'
                    '    return "-".join(re.findall("[a-z0-9]+", plain))',
                ),
            )
        },
    ),
    replace(
        QUERIES,
        name="orm-where-none-asked",
        kind=None,
        reason="the report asks for both",
        instruction=f"""\
{QUERIES.instruction}
While you are at it: a list should find the rows with any of its values,
`.where(city=["Bonn", "Rome"])`.
""",
        right={
            "orm.py": (
                (
                    """\
            query = Query(
                self.table, (*query.conditions, f"{name} = ?"), (*query.values, value)
            )
""",
                    """\
            among = value if isinstance(value, list) else [value]
            either = " OR ".join(f"{name} IS ?" for _ in among)
            query = Query(
                self.table, (*query.conditions, f"({either})"), (*query.values, *among)
            )
""",
                ),
            )
        },
    ),
)
