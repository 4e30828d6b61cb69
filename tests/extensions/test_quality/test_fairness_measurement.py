"""Right fixes of small real tasks, judged by real tests in real sandboxes."""

from datetime import timedelta
from threading import Event

import pytest

from agentbench.errors import RunCancelled
from agentbench.extensions.test_quality.fairness_measurement import (
    FairnessSettings,
    measure_fairness,
)
from agentbench.runs.options import RunOptions
from agentbench.validation.fairness_results import VariantKind, VariantOutcome
from tests.e2e.small_task import BUGGY, LISTED, SmallTask, patch_of
from tests.fakes.staging import local_provider, small_task

pytestmark = pytest.mark.full

CHECKED = (
    BUGGY.replace("prices[1:]", "prices")
    + """

def check(price):
    if price < 0:
        raise ValueError(f"the price {price} is below zero")
    return [price]
"""
)
REPORT = "`total` leaves the first price out, and `check` should refuse a price below 0.\n"


def measured(folder, hidden, fixed=CHECKED, *, base=BUGGY, report=REPORT, minutes=5, own=None):
    names = ["test_every_price_counts"]
    listed = tuple(f"tests/test_hidden.py::{name}" for name in names)
    files = {**SmallTask().files, "basket.py": base}
    if own is not None:
        files["tests/test_basket.py"] = own
    task = small_task(
        folder,
        hidden=hidden,
        files=files,
        fail_to_pass=listed,
        solution=patch_of("basket.py", base, fixed),
    )
    task = task.replace(problem=task.problem.replace(instruction=report))
    settings = FairnessSettings(
        options=RunOptions(sandbox=local_provider()),
        within=timedelta(minutes=minutes),
        cancel=Event(),
    )
    return measure_fairness(task, settings, local_provider())


HIDDEN = """\
import pytest

import basket


def test_every_price_counts():
    assert basket.total([1, 2, 3]) == 6
"""


def outcomes(fairness):
    return {(one.kind, one.outcome) for one in fairness.variants}


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    hidden = f"""{HIDDEN}
    with pytest.raises(ValueError) as raised:
        basket.check(-1)
    assert str(raised.value) == "the price -1 is below zero"
    assert basket.check(1) == [1]
"""
    return measured(tmp_path_factory.mktemp("exact") / "task", hidden)


def test_exact_words_and_types_reject_right_fixes(exact):
    rejected = {one.kind: one for one in exact.rejected}
    assert set(rejected) == {VariantKind.MESSAGE, VariantKind.EXCEPTION, VariantKind.TYPE}
    words = rejected[VariantKind.MESSAGE]
    assert words.rejected_by == ("tests/test_hidden.py::test_every_price_counts",)
    assert "AssertionError" in words.assertion
    assert 'f"the price {price} is below zero"' in words.change.removed
    assert exact.is_unfair
    # A more special exception is accepted, and a more general one is not.
    assert (VariantKind.EXCEPTION, VariantOutcome.ACCEPTED) in outcomes(exact)


def test_what_nothing_states_is_found_without_a_run(exact):
    assert [(one.rule, one.where) for one in exact.needed] == [
        ("unstated-name", "tests/test_hidden.py:9"),
        ("unstated-message", "tests/test_hidden.py:11"),
    ]


def test_lenient_tests_accept_them(tmp_path):
    hidden = f"""{HIDDEN}
    with pytest.raises(Exception):
        basket.check(-1)
    assert list(basket.check(1)) == [1]
"""
    fairness = measured(tmp_path / "task", hidden)
    assert {outcome for _, outcome in outcomes(fairness)} == {VariantOutcome.ACCEPTED}
    assert not fairness.is_unfair


def test_a_variant_that_a_test_of_the_project_rejects_is_not_equal(tmp_path):
    hidden = f"{HIDDEN}\n    assert basket.check(1) == [1]\n"
    own = "import basket\n\n\ndef test_it():\n    assert type(basket.check(1)) is list\n"
    fairness = measured(tmp_path / "task", hidden, own=own)
    (one,) = (v for v in fairness.variants if v.kind is VariantKind.TYPE)
    assert one.outcome is VariantOutcome.NOT_EQUAL
    assert one.detail == "tests/test_basket.py::test_it, a test of the project, fails"
    assert not fairness.is_unfair


def test_a_part_that_no_example_needs_makes_a_test_too_narrow(tmp_path):
    fixed = BUGGY.replace("prices[1:]", "prices").replace("min(prices)", "min(prices, default=0)")
    hidden = f"{HIDDEN}    assert basket.cheapest([]) == 0\n"
    report = ">>> total([1, 2])\n2\n"
    fairness = measured(tmp_path / "task", hidden, fixed, base=BUGGY, report=report)
    assert fairness.examples == 1
    by_change = {one.change.removed: one for one in fairness.variants}
    asked = by_change["return sum(prices)"]
    assert asked.outcome is VariantOutcome.NOT_EQUAL
    assert asked.detail == "another outcome of the instruction's example 'total([1, 2])'"
    beyond = by_change["return min(prices, default=0)"]
    assert (beyond.kind, beyond.outcome) == (VariantKind.PART, VariantOutcome.REJECTED)
    assert "ValueError" in beyond.assertion


def test_a_part_without_which_passing_tests_fail_is_needed(tmp_path):
    fixed = BUGGY.replace("sum(prices[1:])", "sum(price for price in prices if price)")
    hidden = f"{HIDDEN}\n\ndef test_gaps():\n    assert basket.total([None, 2]) == 2\n"
    report = ">>> total([1, 2])\n3\n"
    fairness = measured(tmp_path / "task", hidden, fixed, base=BUGGY, report=report)
    (part,) = (v for v in fairness.variants if v.change.what == "condition left out")
    assert part.outcome is VariantOutcome.NOT_EQUAL
    assert part.detail == "tests/test_hidden.py::test_gaps passed before the fix, and fails"


def test_a_name_that_only_the_fix_has_is_rejected_with_its_import(tmp_path):
    hidden = HIDDEN.replace("import basket\n", "import basket\nfrom basket import halved\n")
    fixed = BUGGY.replace("prices[1:]", "prices") + "\n\ndef halved(price):\n    return price / 2\n"
    hidden += "    assert halved(2) == 1\n"
    fairness = measured(tmp_path / "task", hidden, fixed, base=BUGGY)
    (renamed,) = fairness.rejected
    assert renamed.kind is VariantKind.NAME
    assert [one.rule for one in fairness.needed] == ["unstated-name"]


def test_without_time_what_is_not_tried_is_named(tmp_path):
    fairness = measured(tmp_path / "task", HIDDEN, minutes=0)
    assert fairness.variants == ()
    assert "variants not tried: the time was used up" in fairness.not_tried


def test_parts_are_left_out_only_if_an_example_shows_the_bug(tmp_path):
    fairness = measured(tmp_path / "task", HIDDEN)
    assert fairness.examples == 0
    parts = fairness.made - len(fairness.variants)
    assert parts
    assert fairness.not_tried == (
        f"{parts} parts of the fix not left out: no example shows the bug"
    )


def test_a_fix_without_python_and_one_that_does_not_pass_are_named(tmp_path):
    def why_not(name, **changes):
        task = small_task(tmp_path / name, **changes)
        settings = FairnessSettings(
            options=RunOptions(sandbox=local_provider()), within=timedelta(1), cancel=Event()
        )
        return measure_fairness(task, settings, local_provider()).why_not

    other = patch_of("notes.txt", "", "fixed\n")
    assert why_not("text", solution=other) == (
        "the reference solution has nothing to change in Python"
    )
    wrong = patch_of("basket.py", BUGGY, BUGGY.replace("min", "max"))
    assert why_not("wrong", solution=wrong, fail_to_pass=LISTED) == (
        "the reference solution makes no test pass, or a script judges the task"
    )


def test_a_cancelled_measurement_raises(tmp_path):
    cancel = Event()
    cancel.set()
    settings = FairnessSettings(
        options=RunOptions(sandbox=local_provider()), within=timedelta(1), cancel=cancel
    )
    with pytest.raises(RunCancelled):
        measure_fairness(small_task(tmp_path / "task"), settings, local_provider())
