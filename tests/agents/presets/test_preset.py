"""What a preset may say, and how an agent's stop is told from what it left."""

from datetime import timedelta

import pytest
from pydantic import ValidationError

from agentbench.agents.preset import StopRule
from agentbench.models.interface import ApiFormat
from agentbench.scoring.evidence import AgentEnding, CommandResult, Ending
from tests.agents.presets.minimal import preset


def result(exit_code: int, stdout: str = "", stderr: str = "") -> CommandResult:
    return CommandResult(
        argv=("agent",),
        ending=Ending.EXITED,
        exit_code=exit_code,
        duration=timedelta(seconds=1),
        stdout=stdout,
        stderr=stderr,
    )


def test_an_exit_code_can_mean_that_the_steps_were_used_up():
    told = preset(stops=[{"exit_code": 53, "ending": "step_limit"}])
    assert told.ending_of(result(53)) is AgentEnding.STEP_LIMIT
    assert told.ending_of(result(1)) is None


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_last_line_can_mean_it_too(stream):
    told = preset(stops=[{"says": "LimitsExceeded", "exit_code": 0, "ending": "step_limit"}])
    assert told.ending_of(result(0, **{stream: "a\nExit: LimitsExceeded\n\n"})) is not None
    assert told.ending_of(result(1, **{stream: "Exit: LimitsExceeded"})) is None


def test_what_was_said_long_before_the_end_means_nothing():
    told = preset(stops=[{"says": "LimitsExceeded", "ending": "step_limit"}])
    assert told.ending_of(result(0, "LimitsExceeded\n" + "more\n" * 50)) is None


def test_the_first_stop_that_fits_tells():
    stops = [
        {"says": "budget", "ending": "cost_limit"},
        {"exit_code": 1, "ending": "step_limit"},
    ]
    told = preset(stops=stops)
    assert told.ending_of(result(1, "over budget")) is AgentEnding.COST_LIMIT
    assert told.ending_of(result(1)) is AgentEnding.STEP_LIMIT


def test_a_stop_that_would_always_fit_is_refused():
    with pytest.raises(ValidationError, match="needs exit_code, says or both"):
        StopRule(ending=AgentEnding.STEP_LIMIT)


@pytest.mark.parametrize("ending", ["crashed", "interrupted", "tired"])
def test_an_agent_cannot_say_that_the_harness_did_something(ending):
    with pytest.raises(ValidationError, match="ending"):
        preset(stops=[{"exit_code": 1, "ending": ending}])


def test_it_speaks_the_models_main_wire_or_else_the_one_that_it_prefers():
    wires = [{"wire": "anthropic-messages"}, {"wire": "openai-chat", "model": "openai/{model}"}]
    told = preset(wires=wires)
    chat, messages, google = (
        ApiFormat.OPENAI_CHAT,
        ApiFormat.ANTHROPIC_MESSAGES,
        ApiFormat.GEMINI_GENERATE,
    )
    assert told.spoken((messages, chat)).wire is messages
    assert told.spoken((chat, messages)).model == "openai/{model}"
    assert told.spoken((google, chat, messages)).wire is messages
    assert told.spoken((google, chat)).wire is chat
    assert told.spoken((google,)) is None
    assert told.spoken(()) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"wires": []}, "wires"),
        ({"rehearsal": []}, "rehearsal"),
        ({"rehearsal": [{"tool": "edit", "say": "done"}]}, "needs tool or say, and not both"),
        ({"rehearsal": [{}]}, "needs tool or say, and not both"),
        ({"name": "No Name"}, "name"),
        ({"about": "x" * 101}, "about"),
        ({"shell": "sh"}, "shell"),
    ],
)
def test_what_a_preset_may_not_say_is_refused(changes, said):
    with pytest.raises(ValidationError, match=said):
        preset(**changes)


def test_its_programs_are_named_in_a_table():
    told = preset(install={"npm": ["some-agent@1.0"], "keeps_node": True})
    assert told.install.npm == ("some-agent@1.0",)
    assert told.install.keeps_node
