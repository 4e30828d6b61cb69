"""Asks a model again when it was overloaded, cut off or out of reach, as long as time is left."""

from collections.abc import Callable
from datetime import timedelta
from itertools import count

from agentbench.agents.interface import Budget
from agentbench.agents.llm.clients.interface import UnansweredError
from agentbench.agents.llm.conversation import Answer
from agentbench.agents.model_door import ModelFailure

LONGEST = timedelta(minutes=10)
"""For one try, unless less is left."""

_FIRST_PAUSE = 2.0  # seconds; with five tries they come to 80, more than the minute of most limits
_LONGER = 3


class GaveUpError(Exception):
    """The model did not answer at any try; the last failure counts."""

    def __init__(self, failure: ModelFailure, tries: int) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.tries = tries


def asked_until_answered(
    ask: Callable[[timedelta], Answer],
    budget: Budget,
    *,
    tries: int,
    sleep: Callable[[float], None],
) -> Answer:
    """The answer to a request, at the first try that brings one.

    Args:
        ask: One try, with the time that it may take.
        budget: Neither a try nor a pause goes beyond it.
        tries: The most that are made.
        sleep: Waits, for seconds.

    Raises:
        GaveUpError: the last try failed, or another would come to nothing.
    """
    for number in count(1):
        try:
            return ask(min(LONGEST, budget.remaining()))
        except UnansweredError as error:
            pause = _pause(number, error.retry_after)
            time_is_left = pause < budget.remaining().total_seconds()
            if number >= tries or not error.may_retry or not time_is_left:
                raise GaveUpError(error.failure, number) from error
            sleep(pause)
    raise AssertionError("a count does not end")


def _pause(number: int, asked_for: float | None) -> float:
    return _FIRST_PAUSE * _LONGER ** (number - 1) if asked_for is None else asked_for
