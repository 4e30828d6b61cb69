"""The sample of pass-to-pass tests: what is drawn, what stays in its files, and what differs."""

import re
from collections.abc import Callable
from textwrap import dedent

import pytest

from agentbench.integrity.records import SealedMismatch
from agentbench.integrity.sealing.canonical import Recording, of_python
from agentbench.integrity.sealing.isolation import ComparisonGuard
from agentbench.integrity.sealing.memory import RegressionSample
from agentbench.integrity.sealing.plan import SealedOutcome
from agentbench.integrity.sealing.regressions import (
    confirmed,
    draw_sample,
    is_as_before,
    judge_sample,
)
from agentbench.scoring.evidence import NodeId

HEAD = "import pytest\nfrom stock import goods, size\n"
FILE = "tests/test_stock.py"
TWELVE = "".join(f"def test_{at}():\n    assert size({at}) == 1{at}77\n" for at in range(12))
LOOP = """
def test_some():
    assert size("fig") == 4
    for one in goods():
        assert one > 1234
"""
SOME = NodeId(f"{FILE}::test_some")
Recorded = Callable[[int, object], Recording]


def drawn(body: str, *tests: str, seed: int = 1, file: str = FILE) -> RegressionSample:
    text = (HEAD + dedent(body)).encode()
    names = tests or tuple(re.findall(r"def (test_\w+)", body))
    return draw_sample([NodeId(f"{file}::{name}") for name in names], lambda _file: text, seed)


def recorded(*found: tuple[int, object], passed: bool = True) -> SealedOutcome:
    recordings = {SOME: tuple(Recording(site, (of_python(value),)) for site, value in found)}
    ended = frozenset({SOME})
    return SealedOutcome(
        passed=ended if passed else frozenset(), ended=ended, recordings=recordings
    )


def mismatches(*found: tuple[int, object], passed: bool = True) -> tuple[SealedMismatch, ...]:
    before = recorded((1, 4), (2, 2000), (2, 3000))
    sample = confirmed(drawn(LOOP), before, ComparisonGuard())
    assert is_as_before(sample, before)
    outcome = recorded(*found, passed=passed)
    assert not is_as_before(sample, outcome)
    (judged,) = judge_sample(sample, [outcome], ComparisonGuard())
    return judged.mismatches


def test_drawn_tests_lose_their_expected_values_and_the_others_keep_theirs():
    sample = drawn(TWELVE)
    text = sample.files[FILE].sealed
    sealed = {test.rpartition("_")[2] for test in sample.files[FILE].tests}
    assert len(sealed) == 10
    kept = set(re.findall(r"assert size\(\d+\) == 1(\d+)77", text))
    assert kept == {str(at) for at in range(12)} - sealed
    assert text.count("agentbench_recorder") == 10


def test_seed_decides_what_is_drawn():
    same = {drawn(TWELVE, seed=1).files[FILE].sealed for _ in range(2)}
    other = {frozenset(drawn(TWELVE, seed=seed).files[FILE].tests) for seed in range(5)}
    assert (len(same), len(other)) == (1, 5)


def test_fewer_tests_of_each_of_many_files_are_drawn():
    tests = [NodeId(f"test_{file:02}.py::test_{at}") for file in range(60) for at in range(12)]
    sample = draw_sample(tests, lambda _file: (HEAD + TWELVE).encode(), 1)
    assert {len(one.tests) for one in sample.files.values()} == {4}
    assert (len(sample.files), len(sample.uncontrolled)) == (50, 10)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("def test_some():\n    goods()\n", "no pass-to-pass test of it can be sealed"),
        ("def test_some():\n    if size(1) != 61:\n        pytest.fail()\n", "no pass-to-pass"),
        ("def test_some(:\n", "cannot be compiled|invalid syntax"),
    ],
)
def test_file_without_a_readable_test_is_named_with_the_reason(body, why):
    sample = drawn(body, "test_some")
    assert sample.files == {}
    assert re.search(why, sample.uncontrolled[FILE])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "is in neither the repository nor the hidden tests"),
        (
            "# coding: latin-1\ndef test_some():\n    assert f() == 77 # \xe9\n".encode("latin-1"),
            "UTF-8",
        ),
    ],
)
def test_file_that_cannot_be_read_is_named(content, why):
    sample = draw_sample([SOME], lambda _file: content, 1)
    assert why in sample.uncontrolled[FILE]


def test_methods_and_parameters_are_sealed_in_place():
    sample = drawn(
        """
        class TestStock:
            limit = 3

            @pytest.mark.parametrize("count, left", [(1, 4321), (2, 5678)])
            def test_left(self, count, left):
                assert size(count) == left

            def test_other(self):
                goods()
        """,
        "TestStock::test_left[1-4321]",
        "TestStock::test_left[2-5678]",
    )
    text, renamed = sample.files[FILE].sealed, sample.renamed
    assert "4321" not in text
    assert "goods()" in text
    assert "limit = 3" in text
    assert len(renamed) == 2
    assert all(new.startswith(f"{FILE}::TestStock::test_left[") for new in renamed.values())


def test_code_without_a_fix_that_differs_leaves_nothing_to_compare():
    sample = confirmed(drawn(LOOP), recorded((1, 5)), ComparisonGuard())
    assert sample.files == {}
    assert "code without a fix" in sample.uncontrolled[FILE]


def test_file_that_records_very_much_is_left_out():
    many = recorded((1, 4), *[(2, 10**9)] * 3000)
    sample = confirmed(drawn(LOOP), many, ComparisonGuard())
    assert (sample.files, sample.uncontrolled) == ({}, {FILE: "its tests record too much"})


def test_wrong_value_differs_at_its_own_line():
    (found,) = mismatches((1, 5), (2, 2000), (2, 3000))
    assert (found.node_id, found.line) == (SOME, 5)
    assert (found.expected, found.actual) == ("4", "5")


def test_test_that_does_nothing_differs():
    (found,) = mismatches()
    assert found.expected == "the assertion to run"


def test_test_that_ends_in_an_error_differs():
    (found,) = mismatches((1, 4), passed=False)
    assert found.expected == "the test to run to its end"


def test_another_number_of_passes_through_a_loop_does_not_differ():
    assert mismatches((1, 4), (2, 1235)) == ()
    assert mismatches((1, 4), *[(2, 5000)] * 9) == ()
    assert [one.actual for one in mismatches((1, 4), (2, 12))] == ["12"]
