"""The table of a timeline: its columns, its rows and their limits."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from agentbench.attempt.timeline.document import MAX_BROKEN, JudgedState, NotedState, Timeline
from agentbench.extensions.view.timeline_table import TimelineRow, TimelineTable, timeline_table
from agentbench.models.conversation import Role
from agentbench.models.trajectory import Step
from agentbench.scoring.evidence import CaseOutcome, NodeId
from agentbench.scoring.verdict import CaseChange

START = datetime(2026, 11, 29, tzinfo=UTC)
FIX, KEEP = NodeId("t.py::fix"), NodeId("t.py::keep")
TESTS = (
    CaseChange(
        node_id=FIX,
        listed="fail_to_pass",
        baseline=CaseOutcome.FAILED,
        final=CaseOutcome.PASSED,
    ),
)
SOLVED = JudgedState(state="", resolved=True, passed=(FIX,))
BROKE = JudgedState(state="", resolved=False, passed=(FIX,), broke=(KEEP,))
UNSOLVED = JudgedState(state="", resolved=False)
FAULTY = JudgedState(state="", resolved=False, fault="the disk was full")


def table_of(
    *judged: JudgedState | None, tests: Sequence[CaseChange] = TESTS, steps: Sequence[Step] = ()
) -> TimelineTable:
    """The table of states noted at 0, 10, 20 … seconds; None: it was not judged."""
    noted = [
        NotedState(at=START + timedelta(seconds=10 * number), state=str(number))
        for number in range(len(judged))
    ]
    of = [each.replace(state=str(n)) for n, each in enumerate(judged) if each is not None]
    found = timeline_table(Timeline(noted=tuple(noted), judged=tuple(of)), tests, steps)
    assert found is not None
    return found


def signs(*rows: TimelineRow) -> list[str]:
    return ["".join(outcome[0] for outcome in row.outcomes) for row in rows]


def step(number: int, after_s: float) -> Step:
    at = START + timedelta(seconds=after_s)
    return Step(step_id=number, source=Role.AGENT, message="", timestamp=at.isoformat())


def test_neighbours_with_the_same_results_are_one_column() -> None:
    table = table_of(UNSOLVED, None, UNSOLVED, SOLVED, BROKE, None, BROKE)
    found = [(each.title, each.begin_s, each.judged, each.states) for each in table.columns]
    assert found == [
        ("states 1\u20133", 0, 2, 3),
        ("state 4", 30, 1, 1),
        ("states 5\u20137", 40, 2, 3),
    ]
    assert signs(*table.to_fix, *table.broken) == ["fpp", "ppf"]
    assert [each.outcome for each in table.columns] == ["failed", "passed", "failed"]
    assert [each.is_first_solved for each in table.columns] == [False, True, False]
    assert [each.is_lost_again for each in table.columns] == [False, False, True]


def test_states_between_different_results_are_unknown() -> None:
    table = table_of(UNSOLVED, None, None, SOLVED)
    assert [each.judged for each in table.columns] == [1, 0, 1]
    assert signs(*table.to_fix) == ["fup"]


def test_state_that_could_not_be_judged_is_a_column_with_its_reason() -> None:
    table = table_of(UNSOLVED, FAULTY)
    assert [each.fault for each in table.columns] == ["", "the disk was full"]
    assert signs(*table.to_fix) == ["fu"]


def test_columns_are_named_by_the_steps_that_made_them() -> None:
    steps = [step(3, 5), step(4, 12), step(5, 15), step(6, 25)]
    titles = [each.title for each in table_of(UNSOLVED, SOLVED, BROKE, steps=steps).columns]
    assert titles == ["start", "steps 3\u20134", "steps 5\u20136"]
    several = table_of(UNSOLVED, SOLVED, BROKE, steps=steps[:1])
    assert [each.title for each in several.columns] == ["start", "step 3", "step 3"]


def test_start_lasts_until_the_step_before_the_first_change() -> None:
    steps = [step(2, 1), step(3, 2), step(4, 8)]
    later = [each.title for each in table_of(UNSOLVED, SOLVED, steps=steps).columns]
    assert later == ["start to step 3", "step 4"]


def test_tests_that_change_come_before_the_limit_and_the_rest_is_counted() -> None:
    many = [TESTS[0].replace(node_id=NodeId(f"t.py::{number}")) for number in range(50)]
    table = table_of(UNSOLVED, SOLVED, BROKE, tests=(*many, *TESTS))
    assert len(table.to_fix) + len(table.broken) == 40
    assert table.left_out == 12
    assert table.to_fix[-1].test == FIX
    assert [row.test for row in table.broken] == [KEEP]


def test_test_beyond_the_listed_broken_ones_is_unknown() -> None:
    full = BROKE.replace(broke=tuple(NodeId(f"o.py::{n}") for n in range(MAX_BROKEN)))
    table = table_of(SOLVED, BROKE, full)
    (row,) = (row for row in table.broken if row.test == KEEP)
    assert signs(row) == ["pfu"]


@pytest.mark.parametrize("tests", [TESTS, ()])
def test_tests_to_fix_are_known_without_a_final_test(tests: Sequence[CaseChange]) -> None:
    assert [row.test for row in table_of(UNSOLVED, SOLVED, tests=tests).to_fix] == [FIX]


def test_timeline_without_states_has_no_table() -> None:
    assert timeline_table(Timeline(), TESTS, ()) is None
