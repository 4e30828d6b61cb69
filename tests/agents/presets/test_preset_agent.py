"""Agents as data, in a real sandbox: what they are told, and what is made of how they end."""

import json
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

from agentbench.agents.interface import Budget, NeedsMounts, UsesModel
from agentbench.agents.preset import PresetAgent, fill_placeholders
from agentbench.errors import UnavailableError, UsageError
from agentbench.models.gateway.relay import endpoint_mounts
from agentbench.models.interface import ApiFormat
from agentbench.sandbox.interface import Limits
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.problem import Problem, TaskId
from tests.agents.presets.minimal import preset
from tests.e2e import conftest as end_to_end
from tests.models.gateway.unix_door import echo, unix_door
from tests.patience import with_growing_limit

bubblewrap = end_to_end.bubblewrap
cache_dir = end_to_end.cache_dir

INSTRUCTION = 'x\'s value is $HOME {model}\nand "quoted"\n'
TELL = """
import json, os, sys
home = os.environ["MY_HOME"]
told = {"argv": sys.argv[1:], "stdin": sys.stdin.read(), "env": dict(os.environ)}
told["file"] = open(os.environ["AGENTBENCH_INSTRUCTION"]).read()
told["settings"] = open(home + "/deep/settings.json").read()
open(home + "/writable", "w")
print(json.dumps(told))
"""


@pytest.fixture
def problem():
    return Problem(
        id=TaskId("some-task"),
        title="x is wrong",
        instruction=INSTRUCTION,
        test_command="pytest",
        test_timeout_s=60,
    )


@pytest.fixture
def budget():
    return budget_of(seconds=60)


def budget_of(seconds):
    return Budget(timeout=timedelta(seconds=seconds), max_steps=9, max_cost_usd=1)


@pytest.fixture
def solve(bubblewrap, tmp_path, problem, budget):
    """Runs a preset in a sandbox, behind a door."""

    doors = count()

    def run(told, *, wires=tuple(ApiFormat), budget=budget):
        agent = PresetAgent(told, toolboxes=tmp_path / "toolboxes")
        image = bubblewrap.resolve_image(None)
        with unix_door(tmp_path / f"door-{next(doors)}", echo) as door:
            door = replace(door, api_formats=wires)
            mounts = [*endpoint_mounts(door), *agent.mounts(bubblewrap, image)]
            with bubblewrap.open(image, limits=Limits(), network=False, mounts=mounts) as sandbox:
                return agent.solve(problem, sandbox, budget, door)

    return run


def test_it_is_told_everything_that_it_may_want_to_know(solve):
    told = preset(
        install={"commands": [f"cat > tell.py <<'END'\n{TELL}\nEND"]},
        command="python {tools}/tell.py {model} {instruction} {max_steps} {workspace}",
        env={"MY_HOME": "{home}", "MY_URL": "{agentbench-door}/v2", "MY_JSON": '{"a": "{model}"}'},
        files={"deep/settings.json": '{"steps": {max_steps}, "model": "{model}"}'},
        wires=[{"wire": "openai-chat", "model": "openai/{model}", "env": {"WIRE": "chat"}}],
    )
    outcome = solve(told)
    assert outcome.ending is AgentEnding.SUBMITTED, outcome
    said = json.loads(outcome.command.stdout)
    assert said["argv"] == ["openai/scripted", INSTRUCTION, "9", "/workspace"]
    assert said["stdin"] == said["file"] == INSTRUCTION
    assert json.loads(said["settings"]) == {"steps": 9, "model": "openai/scripted"}
    env = said["env"]
    assert env["MY_URL"] == env["OPENAI_BASE_URL"].removesuffix("/v1") + "/v2"
    assert env["MY_URL"].startswith("http://127.0.0.1:")
    assert env["MY_JSON"] == '{"a": "openai/scripted"}'
    assert env["WIRE"] == "chat"
    assert env["OPENAI_API_KEY"] == "token-of-the-attempt"


def test_an_exit_code_that_means_nothing_else_is_a_failure_with_its_last_lines(solve):
    outcome = solve(preset(command="echo no luck >&2; exit 7"))
    assert outcome.ending is AgentEnding.TOOL_ERROR
    assert outcome.detail == "agent exited 7: no luck"


def test_an_exit_code_with_a_meaning_is_that(solve):
    told = preset(command="exit 53", stops=[{"exit_code": 53, "ending": "step_limit"}])
    assert solve(told).ending is AgentEnding.STEP_LIMIT


def test_success_that_says_that_it_gave_up_is_giving_up(solve):
    told = preset(command="echo LimitsExceeded", stops=[{"says": "Limits", "ending": "step_limit"}])
    outcome = solve(told)
    assert outcome.ending is AgentEnding.STEP_LIMIT
    assert outcome.detail == "mine stopped by itself"


def test_failure_can_be_declared_harmless(solve):
    told = preset(command="exit 3", stops=[{"exit_code": 3, "ending": "submitted"}])
    outcome = solve(told)
    assert (outcome.ending, outcome.detail) == (AgentEnding.SUBMITTED, "")


def test_one_that_never_ends_is_out_of_time_whatever_it_says(solve):
    told = preset(
        command="echo Limits; sleep 600", stops=[{"says": "Limits", "ending": "step_limit"}]
    )
    outcome = with_growing_limit(
        lambda seconds: solve(told, budget=budget_of(seconds)),
        lambda outcome: "Limits" in outcome.command.stdout,
        limits=(1, 10, 60),
    )
    assert outcome.ending is AgentEnding.TIME_LIMIT


def test_without_a_model_it_says_what_to_add(problem, budget, tmp_path):
    agent = PresetAgent(preset(), toolboxes=tmp_path)
    with pytest.raises(UsageError, match="--agent mine needs a model: --model provider/name"):
        agent.solve(problem, None, budget, None)


def test_a_model_that_it_cannot_speak_to_is_named_with_its_wires(solve):
    with pytest.raises(UsageError, match="mine supports openai-chat; scripted offers gemini"):
        solve(preset(), wires=(ApiFormat.GEMINI_GENERATE,))


def test_it_says_what_it_needs_before_a_sandbox_is_opened(tmp_path):
    agent = PresetAgent(preset(), toolboxes=tmp_path)
    assert isinstance(agent, NeedsMounts)
    assert isinstance(agent, UsesModel)
    assert agent.needs_model
    assert agent.api_formats == {ApiFormat.OPENAI_CHAT}
    assert agent.name == "mine"
    assert PresetAgent(preset(), toolboxes=tmp_path, name="./x.toml").name == "./x.toml"


def test_what_cannot_be_installed_is_named(bubblewrap, tmp_path):
    agent = PresetAgent(preset(install={"commands": ["exit 5"]}), toolboxes=tmp_path)
    with pytest.raises(UnavailableError, match="mine cannot be installed: `exit 5`"):
        agent.mounts(bubblewrap, bubblewrap.resolve_image(None))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a}{b}", "1{a}"),  # what was put in is not looked at again
        ("{c} {", "{c} {"),
        ('{"a": {a}, "x": {}}', '{"a": 1, "x": {}}'),
        ("{{a}}", "{1}"),
        ("", ""),
    ],
)
def test_placeholders_are_filled_once_and_other_braces_stay(text, expected):
    assert fill_placeholders(text, {"a": "1", "b": "{a}"}) == expected
