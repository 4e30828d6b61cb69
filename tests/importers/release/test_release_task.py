from datetime import UTC, datetime

from msgspec.structs import replace
from packaging.version import Version

from agentbench.importers.release.release_task import (
    MAX_CHANGELOG,
    ChangelogSection,
    instruction_of,
    without_code,
)
from agentbench.tasks.fix_commit import FixCommit
from agentbench.tasks.git_history import Commit

COMMIT = Commit(hash="0" * 40, parents=(), date=datetime(2026, 1, 1, tzinfo=UTC), message="x")
FIX = FixCommit(
    commit=COMMIT,
    base="0" * 40,
    tests=(),
    tests_patch=b"",
    solution_patch=(
        b"diff --git a/NEWS.md b/NEWS.md\n+++ b/NEWS.md\n+- last is right now\n"
        b"diff --git a/x.py b/x.py\n+++ b/x.py\n+    return items[-1] or None\n+else:\n"
    ),
)
SECTION = ChangelogSection(
    file="CHANGES.md",
    version=Version("1.1"),
    text="- last is right now\nreturn items[-1] or None\nelse:\n```python\n"
    "x = 1\nreturn items[-1] or None\n```\n```\nlast([1])\n```\n- done",
)
VERSIONS = ("1.0", "1.1")


def test_the_changelog_is_told_with_its_origin():
    text = instruction_of("demo", VERSIONS, [SECTION], ["test_a"])
    assert text.startswith("# demo 1.0: make it do what 1.1 does\n")
    assert "changelog (CHANGES.md)" in text
    assert "- last is right now" in text
    assert "names of the tests" not in text


def test_lines_of_the_solution_and_blocks_that_hold_one_are_left_out():
    (told,) = without_code([SECTION], FIX)
    assert told.text == "- last is right now\nelse:\n```\nlast([1])\n```\n- done"


def test_a_block_that_does_not_end_is_told_as_it_is():
    open_block = replace(SECTION, text="```\nx = 1")
    assert without_code([open_block], FIX)[0].text == "```\nx = 1"


def test_without_a_changelog_the_names_of_the_tests_are_told_and_it_is_said():
    text = instruction_of("demo", VERSIONS, [], ["test_the_last_item_is_given", "test_"])
    assert "changelog does not say" in text
    assert "- the last item is given\n- test_\n" in text


def test_very_many_tests_are_not_all_told():
    text = instruction_of("demo", VERSIONS, [], [f"test_{n}" for n in range(45)])
    assert "- and 5 more" in text


def test_with_neither_it_is_said_that_nothing_is_said():
    assert "does not mention it" in instruction_of("demo", VERSIONS, [], [])


def test_a_very_long_changelog_is_cut_at_a_line():
    long = replace(SECTION, text="\n".join(f"- line {n}" for n in range(5_000)))
    text = instruction_of("demo", VERSIONS, [long], [])
    assert len(text) < MAX_CHANGELOG + 1_000
    assert "\n…\n" in text
