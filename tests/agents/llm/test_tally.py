from agentbench.agents.llm.conversation import Reply, ToolCall
from agentbench.agents.llm.tally import Tally
from agentbench.agents.llm.tools.workbench import EFFECTS
from agentbench.scoring.evidence import AgentEnding

GOOD, BAD = Reply(text="ok"), Reply(text="no", failed=True)


def call(name):
    return ToolCall(id="1", name=name, arguments="{}")


def test_errors_are_recovered_by_the_next_call_that_succeeds():
    tally = Tally()
    for reply in (BAD, BAD, GOOD, BAD, GOOD, BAD):
        tally.count(call("edit"), reply)
    outcome = tally.outcome(AgentEnding.SUBMITTED)
    assert (outcome.tool_calls, outcome.tool_errors_recovered) == (6, 3)


def test_only_what_succeeded_is_a_change_or_a_run_of_tests():
    tally = Tally()
    for name in EFFECTS:
        tally.count(call(name), BAD)
    assert (tally.changes, tally.test_runs) == (0, 0)
    for name in EFFECTS:
        tally.count(call(name), GOOD)
    assert (tally.changes, tally.test_runs) == (3, 1)


def test_a_name_that_is_no_tool_is_a_call_that_failed():
    tally = Tally()
    tally.count(call("fly"), BAD)
    assert tally.tool_calls == 1


def test_steps_without_a_call_and_without_a_success_are_counted_in_a_row():
    tally = Tally()
    for replies in ([BAD], [BAD, BAD], [], [BAD]):
        tally.end_step(replies)
    assert (tally.failed_steps, tally.silent_steps) == (3, 0)
    tally.end_step([])
    tally.end_step([])
    assert (tally.failed_steps, tally.silent_steps) == (3, 2)
    tally.end_step([BAD, GOOD])
    assert (tally.failed_steps, tally.silent_steps) == (0, 0)
