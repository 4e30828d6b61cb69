from agentbench.audit.task_facts import blocks_of, fingerprints_of, found_in, without

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
