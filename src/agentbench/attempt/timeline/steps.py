"""The steps of a trajectory that made the states of a timeline."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from agentbench.models.conversation import Role
from agentbench.models.trajectory import Step


def answer_times(steps: Iterable[Step]) -> list[tuple[int, datetime]]:
    """The model's steps with the times of their requests, as far as they can be read."""
    found = (
        (step.step_id, read_time(step.timestamp or ""))
        for step in steps
        if step.source is Role.AGENT
    )
    return [(step, time) for step, time in found if time is not None]


def step_before(answers: Sequence[tuple[int, datetime]], at: datetime) -> int | None:
    """The step that made a state noted at a time: the model's last one before it."""
    earlier = [step for step, time in answers if time < at]
    return earlier[-1] if earlier else None


def read_time(text: str) -> datetime | None:
    """A time with its zone; None: it is none. A run's files may come from anybody."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else None
