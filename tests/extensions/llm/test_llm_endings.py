from agentbench.extensions.llm import endings
from agentbench.extensions.llm.endings import AttemptCounts, NoAnswerError
from agentbench.models.conversation import ModelAnswer, ModelToolCall, ToolReply
from agentbench.models.interface import ModelErrorKind, ModelFailure, ModelTraffic, ModelUsage
from agentbench.scoring.evidence import AgentEnding
from tests.extensions.llm.conftest import budget_of


class Door:
    """A door that saw this much."""

    def __init__(self, facts):
        self._facts = facts

    def traffic(self):
        return self._facts


def gave_up(kind=ModelErrorKind.CONNECTION, status=None, message="", tries=1):
    return NoAnswerError(ModelFailure(kind=kind, status=status, message=message), tries)


def test_a_budget_without_a_price_is_told_without_an_amount():
    door = Door(ModelTraffic(over_budget=True, usage=ModelUsage()))
    outcome = endings.unanswered(AttemptCounts(steps=4), budget_of(), door, gave_up())
    assert outcome.ending is AgentEnding.COST_LIMIT
    assert outcome.detail == "the budget of $2.00 was used up at step 4"


def test_a_model_that_fails_when_the_time_is_over_is_a_time_limit():
    budget = budget_of(seconds=0)
    outcome = endings.unanswered(AttemptCounts(steps=4), budget, Door(ModelTraffic()), gave_up())
    assert outcome.ending is AgentEnding.TIME_LIMIT
    assert outcome.detail == "the 0 s were used up at step 4"


def test_messages_of_others_are_told_on_one_short_line_without_control_characters():
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


def test_a_refusal_says_what_the_model_said():
    outcome = endings.refused(AttemptCounts(steps=3), ModelAnswer(text="not\nthis"))
    assert outcome.detail == (
        "LLM error at step 3: refusal, HTTP 200, the model declined: not this"
    )
