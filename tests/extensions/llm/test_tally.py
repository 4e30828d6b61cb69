from agentbench.extensions.llm.endings import AttemptCounts
from agentbench.extensions.llm.tools import EFFECT_OF_TOOL
from agentbench.models.conversation import ModelToolCall, ToolReply
from agentbench.scoring.evidence import AgentEnding

GOOD, BAD = ToolReply(text="ok"), ToolReply(text="no", failed=True)


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
    assert (tally.changes, tally.test_runs) == (4, 1)


def test_a_name_that_is_no_tool_is_a_call_that_failed():
    tally = AttemptCounts()
    tally.count(call("fly"), BAD)
    assert tally.tool_calls == 1


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
