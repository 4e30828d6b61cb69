"""What a preset may say, and how an agent's stop is told from what it left."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest
from pydantic import ValidationError

from agentbench.agents.interface import Budget, NeedsMounts, UsesModel
from agentbench.agents.preset import (
    PresetAgent,
    StopRule,
    fill_placeholders,
    find_preset,
    shipped_presets,
)
from agentbench.errors import InputError, UnavailableError, UsageError
from agentbench.models.gateway.relay import endpoint_mounts
from agentbench.models.interface import ApiFormat
from agentbench.sandbox.interface import Limits
from agentbench.scoring.evidence import AgentEnding, CommandResult, Ending
from agentbench.tasks.problem import Problem, TaskId
from tests.agents.presets.minimal import TEXT, preset
from tests.e2e import conftest as end_to_end
from tests.models.gateway.unix_door import echo, unix_door
from tests.patience import with_growing_limit


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


SHIPPED = shipped_presets()
NAMES = {
    "claude-code", "codex", "mini-swe-agent", "aider", "opencode", "gemini-cli", "qwen-code",
}  # fmt: skip
each = pytest.mark.parametrize("preset", SHIPPED, ids=lambda preset: preset.name)


def test_the_agents_that_people_compare_ship():
    assert {preset.name for preset in SHIPPED} >= NAMES
    assert [find_preset(preset.name) for preset in SHIPPED] == list(SHIPPED)


@each
def test_what_is_installed_is_pinned_to_the_version_that_was_tried(preset):
    packages = [*preset.install.npm, *preset.install.python]
    assert all(re.search(r"[=@]=?\d[\w.]*$", package) for package in packages)
    assert any(package.endswith(preset.version) for package in packages)


@each
def test_only_known_placeholders_are_used(preset):
    known = {"tools", "home", "model", "instruction", "max_steps", "workspace"}
    env = [value for spoken in preset.wires for value in spoken.env.values()]
    texts = [preset.command, preset.version_command, *preset.files.values(), *env]
    texts += preset.env.values()
    used = {name for text in texts for name in re.findall(r"\{([a-z_-]+)\}", text)}
    assert used <= known | {"agentbench-door"}
    assert "agentbench-door" not in re.findall(r"\{([a-z_-]+)\}", preset.command)


@each
def test_its_rehearsal_ends_in_words_or_in_the_call_that_submits(preset):
    last = preset.rehearsal[-1]
    assert last.say is not None or "SUBMIT" in str(last.arguments)


def test_nobody_is_no_preset():
    assert find_preset("nobody") is None


def test_a_preset_of_the_users_own_is_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TEXT)
    assert find_preset(str(path)).name == "mine"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "expected TOML"),
        (TEXT.replace('version = "1.0"\n', ""), "version: is missing"),
        (TEXT.replace("openai-chat", "telepathy"), "wires.0.wire"),
        (TEXT.replace("version_command", "version_comand"), "did you mean version_command?"),
    ],
)
def test_every_fault_of_it_is_named_with_its_file(tmp_path, text, said):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        find_preset(str(path))
    assert said in str(caught.value)
    assert all(line.startswith(str(path)) for line in str(caught.value).splitlines())


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(InputError, match="a preset that cannot be read: No such file"):
        find_preset(str(tmp_path / "none.toml"))
