from pathlib import PurePosixPath as P

import pytest

from agentbench.audit.task_facts import (
    blocks_of,
    fingerprints_of,
    found_in,
    functions_in,
    read_task_facts,
    without,
)
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.audit.conftest import write_task
from tests.e2e.small_task import FIXED, HIDDEN, LISTED, VISIBLE

LONG = "total = sum(int(price) for price in prices if price is not None)"
SHORT = ["count = len(prices)", "mean = total / count", "spread = max(prices) - mean"]


def test_long_line_is_found_in_quotes_and_diffs():
    needles = fingerprints_of([[f"    {LONG}"]])
    assert len(needles) == 1
    for text in (LONG, f"> {LONG}", f"+        {LONG}  ", f"| > + {LONG}"):
        assert found_in(f"one\n{text}\n", needles) == {(LONG,): 2}


def test_three_short_lines_together_are_distinctive():
    needles = fingerprints_of([SHORT])
    assert found_in("\n\n".join(["x", *SHORT]), needles) == {tuple(SHORT): 3}
    assert found_in("\n".join(reversed(SHORT)), needles) == {}
    assert found_in("\n".join(SHORT[:2]), needles) == {}


def test_ordinary_lines_are_not_distinctive():
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


def test_fingerprint_does_not_span_blocks():
    assert len(fingerprints_of([SHORT[:2], SHORT[2:]])) == 0


def test_fingerprint_found_in_known_text_is_removed():
    needles = fingerprints_of([[LONG], SHORT])
    rest = without(needles, [LONG])
    assert (len(needles), len(rest)) == (2, 1)
    assert found_in(LONG, rest) == {}


def test_numbered_lines_are_split_at_gaps():
    assert list(blocks_of([(1, "a"), (2, "b"), (5, "c")])) == [["a", "b"], ["c"]]
    assert list(blocks_of([])) == []


def test_task_facts_are_complete(facts_of):
    facts = facts_of()
    assert set(facts.hidden) == {P("tests/test_hidden.py")}
    assert facts.hidden[P("tests/test_hidden.py")].content == HIDDEN.encode()
    assert facts.fixed[P("basket.py")].content == FIXED.encode()
    assert [file.path for file in facts.solution] == ["basket.py"]
    assert set(facts.base.blobs) == {P("basket.py"), P("tests/test_basket.py")}
    assert facts.hidden_names == {"test_every_price_counts", "test_one_price_is_the_total"}
    assert len(facts.hidden_fingerprints) > 0
    assert facts.unread == ()


def test_hidden_text_in_base_is_no_fingerprint(facts_of):
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


def test_unavailable_repository_is_reported_and_patches_are_read(tmp_path):
    facts = by_url(tmp_path, f"file://{tmp_path}/none")
    (why,) = facts.unread
    assert why.startswith("the base tree is unavailable: ")
    assert [file.path for file in facts.solution] == ["basket.py"]


def test_missing_commit_is_reported(tmp_path):
    write_task(tmp_path / "near")
    mirrors = Mirrors(tmp_path / "mirrors")
    made = mirrors.of(load_task(tmp_path / "near", mirrors=mirrors).source)
    (why,) = by_url(tmp_path, f"file://{made.path}").unread
    assert why.startswith("the base tree is unavailable: ")


def test_hidden_and_listed_files_are_distinguished(facts_of):
    visible = "tests/test_basket.py::test_the_cheapest_is_found"
    facts = facts_of(listed=[*LISTED, visible])
    hidden, other = facts.deciding_files
    assert (hidden.path, hidden.hidden, len(hidden.functions)) == ("tests/test_hidden.py", True, 2)
    assert (other.path, other.hidden, other.listed) == ("tests/test_basket.py", False, (visible,))
    assert [name for name, _ in other.deciding] == ["test_the_cheapest_is_found"]
    assert other.is_visible("test_the_cheapest_is_found")
    assert not hidden.is_visible("test_every_price_counts")


def test_ids_with_parameters_belong_to_one_function(facts_of):
    ids = ["tests/test_hidden.py::test_every_price_counts[a]",
           "tests/test_hidden.py::test_every_price_counts[b::c]"]  # fmt: skip
    (file,) = facts_of(listed=ids).deciding_files
    assert file.listed_functions == ["test_every_price_counts"]


def test_without_listed_ids_the_new_tests_decide(facts_of):
    path = "tests/test_basket.py"
    facts = facts_of(hidden={path: VISIBLE + "\n\n" + HIDDEN}, listed=[])
    (file,) = facts.deciding_files
    assert [name for name, _ in file.deciding] == [
        "test_every_price_counts",
        "test_one_price_is_the_total",
    ]


@pytest.mark.parametrize("content", [b"\0", b"\xff", b"def (", b"(" * 9999, b"# coding: x\n"])
def test_file_that_is_not_python_has_no_functions(content):
    assert functions_in(content) == {}


def test_hidden_data_file_is_no_deciding_file(facts_of):
    facts = facts_of(hidden={"tests/test_hidden.py": HIDDEN, "tests/data.json": "{}\n"})
    assert [file.path for file in facts.deciding_files] == ["tests/test_hidden.py"]
