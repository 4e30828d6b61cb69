"""How an agent stopped, and the end of its command, to at most one failure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.scoring import Fault, StageName, classify
from agentbench.scoring.evidence import AgentEnding, Ending, Evidence
from tests.scoring.strategies import command, commands

ENDINGS = [
    ("submitted", None, None),
    ("step_limit", "AGENT_GAVE_UP", "agent"),
    ("cost_limit", "AGENT_GAVE_UP", "agent"),
    ("time_limit", "TIMEOUT", "agent"),
    ("llm_error", "LLM_ERROR", "infrastructure"),
    ("tool_error", "TOOL_ERROR", "agent"),
    ("crashed", "UNKNOWN", "agent"),
    ("interrupted", "INTERRUPTED", "agent"),
]


def judged(ending: str, **evidence) -> tuple[str | None, str | None]:
    failure = classify(StageName.AGENT_RUN, Evidence(agent=AgentEnding(ending), **evidence))
    return (None, None) if failure is None else (failure.reason.value, failure.fault.value)


@pytest.mark.parametrize(("ending", "code", "fault"), ENDINGS)
def test_each_way_an_agent_stops_has_its_reason_and_fault(ending, code, fault):
    assert judged(ending) == (code, fault)


def test_every_way_an_agent_stops_is_in_the_table():
    assert [ending for ending, _, _ in ENDINGS] == [ending.value for ending in AgentEnding]


@pytest.mark.parametrize(("ending", "code"), [(ending, code) for ending, code, _ in ENDINGS[1:]])
@pytest.mark.parametrize("fault", Fault)
def test_a_fault_that_comes_with_the_ending_overrides_the_default(ending, code, fault):
    assert judged(ending, agent_fault=fault) == (code, fault.value)


def test_a_refusal_or_too_long_a_context_is_the_agents():
    refused = judged("llm_error", agent_fault=Fault.AGENT, agent_detail="refusal")
    assert refused == ("LLM_ERROR", "agent")


def test_what_the_agent_said_is_the_detail():
    said = Evidence(agent=AgentEnding.TOOL_ERROR, agent_detail="agent exited 1: no key")
    assert classify(StageName.AGENT_RUN, said).detail == "agent exited 1: no key"
    silent = Evidence(agent=AgentEnding.STEP_LIMIT)
    assert classify(StageName.AGENT_RUN, silent).detail == "the agent ended in step_limit"


@pytest.mark.parametrize(
    ("exit_code", "ending", "signal", "code"),
    [
        (1, Ending.EXITED, None, "TOOL_ERROR"),
        (124, Ending.EXITED, None, "TIMEOUT"),
        (137, Ending.EXITED, None, "TIMEOUT"),
        (None, Ending.KILLED, 9, "TIMEOUT"),
        (None, Ending.KILLED, 11, "TOOL_ERROR"),
    ],
)
def test_an_agent_that_failed_by_a_timeouts_exit_code_timed_out(exit_code, ending, signal, code):
    result = command(exit_code, ending, signal=signal)
    assert judged("tool_error", command=result) == (code, "agent")


@pytest.mark.parametrize("ending", ["submitted", "tool_error", "crashed", "interrupted"])
def test_our_deadline_outweighs_how_an_agent_says_it_stopped(ending):
    result = command(None, Ending.TIMED_OUT)
    assert judged(ending, command=result) == ("TIMEOUT", "agent")


@pytest.mark.parametrize(
    ("ending", "code"),
    [("llm_error", "LLM_ERROR"), ("step_limit", "AGENT_GAVE_UP"), ("cost_limit", "AGENT_GAVE_UP")],
)
def test_a_deadline_does_not_hide_what_the_harness_saw_first(ending, code):
    assert judged(ending, command=command(None, Ending.TIMED_OUT))[0] == code


@pytest.mark.parametrize("ending", AgentEnding)
def test_an_agent_that_ran_out_of_memory_has_itself_to_blame(ending):
    result = command(137, Ending.OUT_OF_MEMORY)
    assert judged(ending, command=result) == ("SANDBOX_ERROR", "agent")


@pytest.mark.parametrize("ending", AgentEnding)
@pytest.mark.parametrize("code", [0, 137])
def test_an_agent_that_filled_its_disk_has_itself_to_blame(ending, code):
    result = command(code, Ending.OUT_OF_DISK, exceeded="64 MiB")
    assert judged(ending, command=result) == ("SANDBOX_ERROR", "agent")


@pytest.mark.parametrize("ending", AgentEnding)
def test_a_lost_sandbox_is_nobodys_but_ours(ending):
    result = command(None, Ending.LOST)
    assert judged(ending, command=result) == ("SANDBOX_ERROR", "infrastructure")


def test_an_agent_that_outlived_a_child_lost_to_memory_has_not_failed():
    survived = command(0, Ending.OUT_OF_MEMORY)
    assert judged("submitted", command=survived) == (None, None)
    assert judged("step_limit", command=survived) == ("AGENT_GAVE_UP", "agent")


@given(
    result=st.none() | commands.filter(lambda c: c.ending is not Ending.LOST),
    ending=st.sampled_from([e for e in AgentEnding if e is not AgentEnding.LLM_ERROR]),
)
def test_an_agents_ending_is_the_infrastructures_only_by_the_gateway_or_a_loss(result, ending):
    failure = classify(StageName.AGENT_RUN, Evidence(agent=ending, command=result))
    assert failure is None or failure.fault is Fault.AGENT
