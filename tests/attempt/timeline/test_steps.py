"""The steps that made the states of a timeline."""

from datetime import UTC, datetime, timedelta

import pytest

from agentbench.attempt.timeline.steps import answer_times, step_before
from agentbench.models.conversation import Role
from agentbench.models.trajectory import Step

START = datetime(2026, 11, 29, tzinfo=UTC)


def step(number: int, timestamp: str | None, source: Role = Role.AGENT) -> Step:
    return Step(step_id=number, source=source, message="", timestamp=timestamp)


def test_only_steps_of_the_model_with_a_time_and_its_zone_count() -> None:
    times = [START.isoformat(), "2026-11-29T00:00:00", "tomorrow", None]
    steps = [step(number, time) for number, time in enumerate(times, 2)]
    assert answer_times([step(1, START.isoformat(), Role.USER), *steps]) == [(2, START)]


@pytest.mark.parametrize(("after_s", "found"), [(0, None), (1, 2), (10, 2), (11, 3), (99, 3)])
def test_state_is_made_by_the_last_step_before_it(after_s: int, found: int | None) -> None:
    answers = [(2, START), (3, START + timedelta(seconds=10))]
    assert step_before(answers, START + timedelta(seconds=after_s)) == found
