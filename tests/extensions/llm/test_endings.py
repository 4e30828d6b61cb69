from datetime import timedelta

import pytest

from agentbench.agents.interface import Budget
from agentbench.extensions.llm import endings
from agentbench.extensions.llm.endings import (
    AttemptCounts,
    NoAnswerError,
    complete_with_retries,
)
from agentbench.extensions.llm.tools import EFFECT_OF_TOOL
from agentbench.models.conversation import ModelAnswer, ModelToolCall, ToolReply, UnansweredError
from agentbench.models.interface import ModelErrorKind, ModelFailure, ModelTraffic, ModelUsage
from agentbench.scoring.evidence import AgentEnding
from tests.extensions.llm.conftest import budget_of

ANSWER = ModelAnswer(text="yes")
GOOD, BAD = ToolReply(text="ok"), ToolReply(text="no", failed=True)


def failure(kind=ModelErrorKind.OVERLOADED, *, retry_after=None, may_retry=None):
    told = ModelFailure(kind=kind, status=529, message="no")
    return UnansweredError(told, retry_after=retry_after, may_retry=may_retry)


class Watch:
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


def test_pauses_grow_from_try_to_try_beyond_a_minute_in_all():
    result, pauses, _ = asked([failure()] * 4 + [ANSWER])
    assert result is ANSWER
    assert pauses == [2, 6, 18, 54]


def test_last_failure_is_raised():
    result, pauses, _ = asked([failure()] * 2 + [failure(ModelErrorKind.CUT_STREAM)], tries=3)
    assert (result.failure.kind, result.attempts) == (ModelErrorKind.CUT_STREAM, 3)
    assert len(pauses) == 2


def test_service_may_say_when_to_come_again():
    result, pauses, _ = asked([failure(retry_after=0.5), failure(retry_after=0), ANSWER])
    assert (result, pauses) == (ANSWER, [0.5, 0])


def test_retries_stay_within_the_budget():
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
def test_permanent_failure_is_not_retried(kind):
    result, pauses, _ = asked([failure(kind), ANSWER])
    assert (result.attempts, pauses) == (1, [])


def test_service_may_say_not_to_come_again():
    assert asked([failure(may_retry=False), ANSWER])[0].attempts == 1


class Door:
    def __init__(self, facts):
        self._facts = facts

    def traffic(self):
        return self._facts


def gave_up(kind=ModelErrorKind.CONNECTION, status=None, message="", tries=1):
    return NoAnswerError(ModelFailure(kind=kind, status=status, message=message), tries)


def test_budget_without_a_price_is_told_without_an_amount():
    door = Door(ModelTraffic(over_budget=True, usage=ModelUsage()))
    outcome = endings.unanswered(AttemptCounts(steps=4), budget_of(), door, gave_up())
    assert outcome.ending is AgentEnding.COST_LIMIT
    assert outcome.detail == "the budget of $2.00 was used up at step 4"


def test_model_that_fails_when_the_time_is_over_is_a_time_limit():
    budget = budget_of(seconds=0)
    outcome = endings.unanswered(AttemptCounts(steps=4), budget, Door(ModelTraffic()), gave_up())
    assert outcome.ending is AgentEnding.TIME_LIMIT
    assert outcome.detail == "the 0 s were used up at step 4"


def test_foreign_message_is_one_short_line():
    error = gave_up(ModelErrorKind.MALFORMED, 400, "bad\x1b[31m\n" + "x" * 1_000)
    outcome = endings.unanswered(AttemptCounts(steps=1), budget_of(), Door(ModelTraffic()), error)
    assert outcome.detail.startswith(
        "LLM error at step 1: malformed, HTTP 400, after 1 try: bad\\x1b[31m xxx"
    )
    assert len(outcome.detail) < 400
    call = ModelToolCall(id="1", name="a\nb" * 99, arguments="")
    failed = endings.failed(
        AttemptCounts(steps=2, failed_steps=5), call, ToolReply(text="no\n\ud800way")
    )
    assert failed.detail.startswith("tool error at step 2: a\\nba\\nb")
    assert failed.detail.endswith(": no \ufffdway (calls failed at 5 steps in a row)")


def test_refusal_says_what_the_model_said():
    outcome = endings.refused(AttemptCounts(steps=3), ModelAnswer(text="not\nthis"))
    assert outcome.detail == (
        "LLM error at step 3: refusal, HTTP 200, the model declined: not this"
    )


def call(name):
    return ModelToolCall(id="1", name=name, arguments="{}")


def test_errors_are_recovered_by_the_next_call_that_succeeds():
    tally = AttemptCounts()
    for reply in (BAD, BAD, GOOD, BAD, GOOD, BAD):
        tally.count(call("edit"), reply)
    outcome = tally.outcome(AgentEnding.SUBMITTED)
    assert (outcome.tool_calls, outcome.tool_errors_recovered) == (6, 3)


def test_only_what_succeeded_is_a_change_or_a_run_of_tests():
    tally = AttemptCounts()
    for name in EFFECT_OF_TOOL:
        tally.count(call(name), BAD)
    assert (tally.changes, tally.test_runs) == (0, 0)
    for name in EFFECT_OF_TOOL:
        tally.count(call(name), GOOD)
    assert (tally.changes, tally.test_runs) == (2, 1)


def test_steps_without_a_call_and_without_a_success_are_counted_in_a_row():
    tally = AttemptCounts()
    for replies in ([BAD], [BAD, BAD], [], [BAD]):
        tally.count_step(replies)
    assert (tally.failed_steps, tally.silent_steps) == (3, 0)
    tally.count_step([])
    tally.count_step([])
    assert (tally.failed_steps, tally.silent_steps) == (3, 2)
    tally.count_step([BAD, GOOD])
    assert (tally.failed_steps, tally.silent_steps) == (0, 0)
