"""How often behaviours occur, and which differ between two runs."""

import pytest

from agentbench.extensions.behaviour.counts import (
    AttemptTags,
    compare_tags,
    count_by_run,
    count_tags,
)
from agentbench.extensions.behaviour.tags import AttemptBehaviour, Behaviour, Sign, Tag


def attempts(with_loop: int, of: int, *, unknown: int = 0) -> list[AttemptBehaviour]:
    found = (Behaviour(tag=Tag.LOOP, signs=(Sign(what="equal calls"),)),)
    return [
        AttemptBehaviour(
            task_id=f"task-{number}",
            attempt=1,
            found=found if number < with_loop else (),
            unknown={Tag.LOOP: "no trajectory"} if number >= of - unknown else {},
        )
        for number in range(of)
    ]


def test_share_is_of_the_attempts_where_the_tag_can_be_known() -> None:
    (row,) = count_tags(attempts(3, 10, unknown=4))
    assert (row.tag, row.count, row.known) == (Tag.LOOP, 3, 6)
    assert row.low < 0.5 < row.high


def test_tag_that_no_attempt_has_is_not_listed() -> None:
    assert count_tags(attempts(0, 3)) == []


def test_tag_of_one_run_is_counted_in_the_other_too() -> None:
    (row,) = count_by_run([attempts(0, 4, unknown=1), attempts(2, 3), []])
    assert row.tag is Tag.LOOP
    assert [(each.count, each.known) for each in row.counts] == [(0, 3), (2, 3), (0, 0)]


def test_tags_without_evidence_count_as_the_attempts_do() -> None:
    runs = [attempts(3, 10, unknown=4), attempts(5, 10)]
    short = [[AttemptTags.of(attempt) for attempt in run] for run in runs]
    assert count_by_run(short) == count_by_run(runs)
    assert compare_tags(*short) == compare_tags(*runs)


@pytest.mark.parametrize(("more", "is_significant"), [(20, True), (2, False)])
def test_difference_of_many_tasks_is_beyond_chance(more: int, is_significant: bool) -> None:
    (row,) = compare_tags(attempts(1, 30), attempts(1 + more, 30))
    assert (row.tag, row.tasks) == (Tag.LOOP, 30)
    assert row.second - row.first == pytest.approx(more / 30)
    assert row.is_significant is is_significant


def test_task_where_the_tag_is_unknown_in_one_run_is_not_compared() -> None:
    (row,) = compare_tags(attempts(2, 10, unknown=3), attempts(5, 10))
    assert row.tasks == 7
