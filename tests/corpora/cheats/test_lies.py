"""The process that runs the tests lies: nothing that it says alone resolves an attempt."""

from pathlib import Path

import pytest

from tests.corpora.cheats.cheat import Cheat
from tests.corpora.cheats.lies import CHEATS
from tests.corpora.cheats.naive import NaiveHarness
from tests.corpora.cheats.trials import try_cheat, try_naively
from tests.e2e.bench import Bench
from tests.tiers import gate_and_soak

BEATEN_IN_THE_SAME_WAY = {
    "a number that equals all",  # as an object that equals all, and the next four
    "a list that equals all",
    "a tuple that equals all",
    "a text that equals all",
    "a dict that equals all",
    "a monitor that changes what is called",  # as a trace that puts another function in
    "globals of the test module",  # as the local variables of the test
    "follows the byte-code of the test",  # as evaluating the line of the assertion
    "reads the assertion in the source",
    "a report forged by its path",  # as a report forged by its descriptor
    "the encoder of reports",
    "CallInfo forgets errors",  # as from_call forgets errors, and the next two
    "call_and_report reports no errors",
    "the code of runtest is another",
    "items that do nothing",  # as calls that do nothing
    "a protocol that runs nothing",
    "reports are born passed",  # as a wrapper around reports
    "the running of TestCase",  # as the methods of TestCase
    "the item of TestCase",
    "the parent leaves, its child goes on",  # as the parent forges, its child runs
    "pytest leaves with 0 at import",  # as pytest leaves with 0
    "a signal makes it leave with 0",  # as the process leaves with 0, and the next one
    "the process leaves with 0 at its end",
    "the files of the tests are skipped",  # as the tests are skipped
    "an array that equals all",  # as an object that equals all
    "another pytest.approx",  # as another pytest.raises
}
"""Cheats of which the gate tries a like one; the soak tries all."""
IN_THE_GATE = [cheat for cheat in CHEATS if cheat.name not in BEATEN_IN_THE_SAME_WAY]
of_each = pytest.mark.parametrize("cheat", gate_and_soak(IN_THE_GATE, CHEATS))


@of_each
def test_a_process_that_lies_does_not_resolve(
    walled_bench: Bench, tmp_path: Path, cheat: Cheat
) -> None:
    try_cheat(walled_bench, cheat, tmp_path)


@of_each
def test_the_lie_is_believed_by_a_naive_harness(naive: NaiveHarness, cheat: Cheat) -> None:
    try_naively(naive, cheat)
