from pathlib import PurePosixPath as P

from agentbench.audit.task_facts import (
    blocks_of,
    fingerprints_of,
    found_in,
    read_task_facts,
    without,
)
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.audit.conftest import write_task
from tests.e2e.small_task import FIXED, HIDDEN

LONG = "total = sum(int(price) for price in prices if price is not None)"
SHORT = ["count = len(prices)", "mean = total / count", "spread = max(prices) - mean"]


def test_one_long_line_tells_and_is_found_however_it_is_marked():
    needles = fingerprints_of([[f"    {LONG}"]])
    assert len(needles) == 1
    for text in (LONG, f"> {LONG}", f"+        {LONG}  ", f"| > + {LONG}"):
        assert found_in(f"one\n{text}\n", needles) == {(LONG,): 2}


def test_three_short_lines_tell_together():
    needles = fingerprints_of([SHORT])
    assert found_in("\n\n".join(["x", *SHORT]), needles) == {tuple(SHORT): 3}
    assert found_in("\n".join(reversed(SHORT)), needles) == {}
    assert found_in("\n".join(SHORT[:2]), needles) == {}


def test_what_any_program_has_tells_nothing():
    for block in (
        ["import os", "import sys", "import re"],
        ["from a.very.long.name.of.a.package import something, another, more"],
        ["x = 1", "y = 2", "z = 3"],
        ["        return None", "    else:", "        pass"],
        ['    """', "    # ----", "    }"],
        ["# " + "-" * 70],
        ["import collections", "import functools", "mean = total / count_of_prices"],
        [],
        SHORT[:2],
    ):
        assert len(fingerprints_of([block])) == 0, block


def test_pieces_do_not_run_into_each_other():
    assert len(fingerprints_of([SHORT[:2], SHORT[2:]])) == 0


def test_what_is_taken_out_is_searched_for_no_more():
    needles = fingerprints_of([[LONG], SHORT])
    rest = without(needles, [LONG])
    assert (len(needles), len(rest)) == (2, 1)
    assert found_in(LONG, rest) == {}


def test_numbered_lines_are_cut_at_gaps():
    assert list(blocks_of([(1, "a"), (2, "b"), (5, "c")])) == [["a", "b"], ["c"]]
    assert list(blocks_of([])) == []


def test_a_task_is_read_whole(facts_of):
    facts = facts_of()
    assert set(facts.hidden) == {P("tests/test_hidden.py")}
    assert facts.hidden[P("tests/test_hidden.py")].content == HIDDEN.encode()
    assert facts.fixed[P("basket.py")].content == FIXED.encode()
    assert [file.path for file in facts.solution] == ["basket.py"]
    assert set(facts.base.blobs) == {P("basket.py"), P("tests/test_basket.py")}
    assert facts.hidden_names == {"test_every_price_counts", "test_one_price_is_the_total"}
    assert len(facts.hidden_fingerprints) > 0
    assert facts.unread == ()


def test_what_the_base_shows_of_hidden_tests_marks_them_no_more(facts_of):
    facts = facts_of(base={"docs.txt": HIDDEN})
    assert facts.hidden_names == frozenset()
    assert len(facts.hidden_fingerprints) == 0


def by_url(tmp_path, url, commit="0" * 40):
    folder = write_task(tmp_path / "far")
    text = (folder / "task.toml").read_text()
    source = f'url = "{url}"\ncommit = "{commit}"'
    (folder / "task.toml").write_text(text.replace('path = "repo"', source))
    mirrors = Mirrors(tmp_path / "mirrors")
    return read_task_facts(load_task(folder, mirrors=mirrors), mirrors)


def test_a_repository_that_cannot_be_had_is_told_of_and_the_rest_is_read(tmp_path):
    facts = by_url(tmp_path, f"file://{tmp_path}/none")
    (why,) = facts.unread
    assert why.startswith("the base tree is unavailable: ")
    assert [file.path for file in facts.solution] == ["basket.py"]


def test_a_commit_that_is_not_there_and_patches_that_do_not_fit_are_told_of(tmp_path):
    write_task(tmp_path / "near")
    mirrors = Mirrors(tmp_path / "mirrors")
    made = mirrors.of(load_task(tmp_path / "near", mirrors=mirrors).source)
    (why,) = by_url(tmp_path, f"file://{made.path}").unread
    assert why.startswith("the base tree is unavailable: ")
