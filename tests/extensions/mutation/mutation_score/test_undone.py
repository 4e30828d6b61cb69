from agentbench.extensions.mutation.mutation_rewrites import undo_parts
from agentbench.python_source.source_text import parse_source


def halves(before, after):
    source = parse_source(after, "m.py")
    return [
        f"{after[: one.span.start]}{one.text}{after[one.span.end :]}"
        for one in undo_parts(before, source)
    ]


def test_each_part_of_a_fix_is_undone_alone():
    before, after = "a = 1\nb = 2\nc = 3\n", "a = 9\nb = 2\nc = 8\nd = 4\n"
    assert halves(before, after) == ["a = 1\nb = 2\nc = 8\nd = 4\n", "a = 9\nb = 2\nc = 3\n"]


def test_lines_that_were_taken_away_come_back():
    assert halves("a = 1\nb = 2\nc = 3\n", "a = 1\nc = 3\n") == ["a = 1\nb = 2\nc = 3\n"]


def test_imports_alone_are_no_part():
    before, after = "import os\n\na = 1\n", "import re\nfrom x import y\n\na = 2\n"
    assert halves(before, after) == ["import re\nfrom x import y\n\na = 1\n"]
