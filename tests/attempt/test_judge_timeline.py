"""Which states are judged, so that each change of the outcome is placed."""

import random

import pytest

from agentbench.attempt.judge_timeline import judge_states
from agentbench.attempt.timeline.document import JudgedState


def judged(outcomes: list[int], most: int) -> tuple[list[int], list[str]]:
    """The outcomes that the judged states give for all states, and the judged states."""
    states = [str(number) for number in range(len(outcomes))]
    asked: list[str] = []

    def judge_one(state: str) -> JudgedState:
        asked.append(state)
        passed = tuple(f"t{n}" for n in range(outcomes[int(state)]))
        return JudgedState(state=state, resolved=False, passed=passed)

    *_, last_judged = [], *judge_states(states, judge_one, most)
    found = {int(each.state): len(each.passed) for each in last_judged}
    placed, last = [], 0
    for number in range(len(states)):
        last = found.get(number, last)
        placed.append(last)
    return placed, asked


@pytest.mark.parametrize("seed", range(30))
def test_each_change_of_the_outcome_is_placed(seed: int) -> None:
    rng = random.Random(seed)
    length = rng.randint(2, 60)
    at = rng.randint(1, length - 1)  # fixed there, and for good
    outcomes = [0] * at + [2] * (length - at)
    placed, asked = judged(outcomes, 12)
    assert placed == outcomes
    assert len(asked) <= 12


def test_work_that_was_lost_and_found_again_is_searched_with_what_is_left() -> None:
    outcomes = [0, 0, 2, 2, 2, 1, 1, 2, 2, 2, 2]
    placed, asked = judged(outcomes, 12)
    assert placed == outcomes
    assert asked[:2] == ["0", "10"]


def test_no_more_states_than_allowed_are_judged_and_none_twice() -> None:
    _, asked = judged([n % 2 for n in range(100)], 12)
    assert len(asked) == len(set(asked)) == 12


@pytest.mark.parametrize("length", [0, 1, 2])
def test_few_states_are_all_judged(length: int) -> None:
    _, asked = judged([1] * length, 12)
    assert len(asked) == length
