from datetime import timedelta

import pytest

from agentbench.agents.interface import Budget
from agentbench.extensions.llm.endings import MAX_REQUEST_TIME, NoAnswerError, complete_with_retries
from agentbench.models.conversation import ModelAnswer, UnansweredError
from agentbench.models.interface import ModelErrorKind, ModelFailure

ANSWER = ModelAnswer(text="yes")


def failure(kind=ModelErrorKind.OVERLOADED, *, retry_after=None, may_retry=None):
    told = ModelFailure(kind=kind, status=529, message="no")
    return UnansweredError(told, retry_after=retry_after, may_retry=may_retry)


class Watch:
    """A clock that goes on only while somebody sleeps."""

    def __init__(self, seconds):
        self.now = 0.0
        self.pauses = []
        self.budget = Budget(
            timeout=timedelta(seconds=seconds),
            max_steps=1,
            max_cost_usd=1,
            clock=lambda: self.now,
            started=0.0,
        )

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds


def asked(script, *, seconds=3600, tries=5):
    watch, allowed, answers = Watch(seconds), [], iter(script)

    def ask(timeout):
        allowed.append(timeout)
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    try:
        result = complete_with_retries(ask, watch.budget, max_attempts=tries, sleep=watch.sleep)
    except NoAnswerError as error:
        result = error
    return result, watch.pauses, allowed


def test_an_answer_is_asked_for_once():
    assert asked([ANSWER]) == (ANSWER, [], [MAX_REQUEST_TIME])


def test_pauses_grow_from_try_to_try_beyond_a_minute_in_all():
    result, pauses, _ = asked([failure()] * 4 + [ANSWER])
    assert result is ANSWER
    assert pauses == [2, 6, 18, 54]


def test_after_the_last_try_it_gives_up_with_the_last_failure():
    result, pauses, _ = asked([failure()] * 2 + [failure(ModelErrorKind.CUT_STREAM)], tries=3)
    assert (result.failure.kind, result.attempts) == (ModelErrorKind.CUT_STREAM, 3)
    assert len(pauses) == 2


def test_the_service_may_say_when_to_come_again():
    result, pauses, _ = asked([failure(retry_after=0.5), failure(retry_after=0), ANSWER])
    assert (result, pauses) == (ANSWER, [0.5, 0])


def test_no_pause_and_no_try_goes_beyond_the_budget():
    result, pauses, allowed = asked([failure()] * 9, seconds=20)
    assert result.attempts == 3
    assert pauses == [2, 6]
    assert [each.total_seconds() for each in allowed] == [20, 18, 12]


@pytest.mark.parametrize(
    "kind",
    [
        ModelErrorKind.AUTH,
        ModelErrorKind.QUOTA,
        ModelErrorKind.UNKNOWN_MODEL,
        ModelErrorKind.CONTEXT_LENGTH,
        ModelErrorKind.MALFORMED,
        ModelErrorKind.REFUSAL,
    ],
)
def test_what_will_not_change_is_not_asked_again(kind):
    result, pauses, _ = asked([failure(kind), ANSWER])
    assert (result.attempts, pauses) == (1, [])


def test_the_service_may_say_not_to_come_again():
    assert asked([failure(may_retry=False), ANSWER])[0].attempts == 1
