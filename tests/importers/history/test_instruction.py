from datetime import UTC, datetime

import pytest

from agentbench.importers.history import instruction_of, title_of
from agentbench.tasks.fix_commit import FixCommit
from agentbench.tasks.git_history import Commit
from tests.e2e.small_task import BUGGY, FIXED, patch_of
from tests.tasks.pocket import MESSAGE

PATCH = patch_of("basket.py", BUGGY, FIXED).encode()


def fix_of(message):
    commit = Commit(hash="a" * 40, parents=("b" * 40,), date=datetime.now(UTC), message=message)
    return FixCommit(commit=commit, base="b" * 40, tests=(), tests_patch=b"", solution_patch=PATCH)


def test_the_message_is_told_without_trailers_and_without_lines_of_the_fix():
    text = instruction_of(fix_of(MESSAGE))
    assert text.startswith("# Count every price\n\nThe first price was left out of the total.\n\n")
    assert "friend@example.org" not in text
    assert "sum(prices)" not in text


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Fix it (#1)", "Fix it"),
        ("", "The bug fixed by aaaaaaaaaaaa"),
        ("x" * 300, f"{'x' * 199}…"),
    ],
)
def test_a_title_is_one_line_of_bounded_length(message, title):
    assert title_of(fix_of(message)) == title


def test_a_message_without_a_body_says_where_it_is_from():
    text = instruction_of(fix_of("Fix it"))
    assert text.startswith("# Fix it\n\nThis is the message of the commit")


def test_lines_that_stand_in_many_a_message_stay():
    patch = fix_of("Fix it\n\nelse:\n")
    assert "else:" in instruction_of(patch)
