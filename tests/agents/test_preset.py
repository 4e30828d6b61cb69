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
    parse_preset,
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
from tests.models.gateway.unix_endpoint import echo, unix_endpoint
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


def test_stop_rule_matches_exit_code():
    reported = preset(stops=[{"exit_code": 53, "ending": "step_limit"}])
    assert reported.ending_of(result(53)) is AgentEnding.STEP_LIMIT
    assert reported.ending_of(result(1)) is None


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_stop_rule_matches_last_line(stream):
    reported = preset(stops=[{"says": "LimitsExceeded", "exit_code": 0, "ending": "step_limit"}])
    assert reported.ending_of(result(0, **{stream: "a\nExit: LimitsExceeded\n\n"})) is not None
    assert reported.ending_of(result(1, **{stream: "Exit: LimitsExceeded"})) is None


def test_stop_rule_ignores_early_lines():
    reported = preset(stops=[{"says": "LimitsExceeded", "ending": "step_limit"}])
    assert reported.ending_of(result(0, "LimitsExceeded\n" + "more\n" * 50)) is None


def test_first_matching_stop_rule_counts():
    stops = [
        {"says": "budget", "ending": "cost_limit"},
        {"exit_code": 1, "ending": "step_limit"},
    ]
    reported = preset(stops=stops)
    assert reported.ending_of(result(1, "over budget")) is AgentEnding.COST_LIMIT
    assert reported.ending_of(result(1)) is AgentEnding.STEP_LIMIT


def test_empty_stop_rule_is_refused():
    with pytest.raises(ValidationError, match="needs exit_code, says or both"):
        StopRule(ending=AgentEnding.STEP_LIMIT)


@pytest.mark.parametrize("ending", ["crashed", "interrupted", "tired"])
def test_stop_rule_cannot_name_endings_of_the_harness(ending):
    with pytest.raises(ValidationError, match="ending"):
        preset(stops=[{"exit_code": 1, "ending": ending}])


def test_main_api_format_of_model_is_preferred():
    formats = [
        {"api_format": "anthropic-messages"},
        {"api_format": "openai-chat", "model": "openai/{model}"},
    ]
    reported = preset(api_formats=formats)
    chat, messages, google = (
        ApiFormat.OPENAI_CHAT,
        ApiFormat.ANTHROPIC_MESSAGES,
        ApiFormat.GEMINI_GENERATE,
    )
    assert reported.spoken((messages, chat)).api_format is messages
    assert reported.spoken((chat, messages)).model == "openai/{model}"
    assert reported.spoken((google, chat, messages)).api_format is messages
    assert reported.spoken((google, chat)).api_format is chat
    assert reported.spoken((google,)) is None
    assert reported.spoken(()) is None


@pytest.mark.parametrize(
    ("changes", "reported"),
    [
        ({"api_formats": []}, "api_formats"),
        ({"dry_run": []}, "dry_run"),
        ({"dry_run": [{"tool": "edit", "say": "done"}]}, "needs tool or say, and not both"),
        ({"dry_run": [{}]}, "needs tool or say, and not both"),
        ({"name": "No Name"}, "name"),
        ({"about": "x" * 101}, "about"),
        ({"shell": "sh"}, "shell"),
    ],
)
def test_invalid_preset_values_are_refused(changes, reported):
    with pytest.raises(ValidationError, match=reported):
        preset(**changes)


def test_install_table_is_read():
    reported = preset(install={"npm": ["some-agent@1.0"], "keeps_node": True})
    assert reported.install.npm == ("some-agent@1.0",)
    assert reported.install.keeps_node


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
    """Runs a preset in a sandbox, behind an endpoint."""

    endpoints = count()

    def run(reported, *, wires=tuple(ApiFormat), budget=budget):
        agent = PresetAgent(reported, toolboxes=tmp_path / "toolboxes")
        image = bubblewrap.resolve_image(None)
        with unix_endpoint(tmp_path / f"endpoint-{next(endpoints)}", echo) as endpoint:
            endpoint = replace(endpoint, api_formats=wires)
            mounts = [*endpoint_mounts(endpoint), *agent.mounts(bubblewrap, image)]
            with bubblewrap.open(image, limits=Limits(), network=False, mounts=mounts) as sandbox:
                return agent.solve(problem, sandbox, budget, endpoint)

    return run


def test_placeholders_are_filled_in_command_env_and_files(solve):
    reported = preset(
        install={"commands": [f"cat > tell.py <<'END'\n{TELL}\nEND"]},
        command="python {tools}/tell.py {model} {instruction} {max_steps} {workspace}",
        env={
            "MY_HOME": "{home}",
            "MY_URL": "{agentbench-endpoint}/v2",
            "MY_JSON": '{"a": "{model}"}',
        },
        files={"deep/settings.json": '{"steps": {max_steps}, "model": "{model}"}'},
        api_formats=[
            {"api_format": "openai-chat", "model": "openai/{model}", "env": {"WIRE": "chat"}}
        ],
    )
    outcome = solve(reported)
    assert outcome.ending is AgentEnding.SUBMITTED, outcome
    reported = json.loads(outcome.command.stdout)
    assert reported["argv"] == ["openai/scripted", INSTRUCTION, "9", "/workspace"]
    assert reported["stdin"] == reported["file"] == INSTRUCTION
    assert json.loads(reported["settings"]) == {"steps": 9, "model": "openai/scripted"}
    env = reported["env"]
    assert env["MY_URL"] == env["OPENAI_BASE_URL"].removesuffix("/v1") + "/v2"
    assert env["MY_URL"].startswith("http://127.0.0.1:")
    assert env["MY_JSON"] == '{"a": "openai/scripted"}'
    assert env["WIRE"] == "chat"
    assert env["OPENAI_API_KEY"] == "token-of-the-attempt"


def test_unknown_exit_code_is_a_tool_error_with_output(solve):
    outcome = solve(preset(command="echo no luck >&2; exit 7"))
    assert outcome.ending is AgentEnding.TOOL_ERROR
    assert outcome.detail == "agent exited 7: no luck"


def test_last_line_can_override_success(solve):
    reported = preset(
        command="echo LimitsExceeded", stops=[{"says": "Limits", "ending": "step_limit"}]
    )
    outcome = solve(reported)
    assert outcome.ending is AgentEnding.STEP_LIMIT
    assert outcome.detail == "mine stopped by itself"


def test_exit_code_can_count_as_submitted(solve):
    reported = preset(command="exit 3", stops=[{"exit_code": 3, "ending": "submitted"}])
    outcome = solve(reported)
    assert (outcome.ending, outcome.detail) == (AgentEnding.SUBMITTED, "")


def test_timeout_overrides_stop_rules(solve):
    reported = preset(
        command="echo Limits; sleep 600", stops=[{"says": "Limits", "ending": "step_limit"}]
    )
    outcome = with_growing_limit(
        lambda seconds: solve(reported, budget=budget_of(seconds)),
        lambda outcome: "Limits" in outcome.command.stdout,
        limits=(1, 10, 60),
    )
    assert outcome.ending is AgentEnding.TIME_LIMIT


def test_missing_model_is_a_usage_error(problem, budget, tmp_path):
    agent = PresetAgent(preset(), toolboxes=tmp_path)
    with pytest.raises(UsageError, match="--agent mine needs a model: --model provider/name"):
        agent.solve(problem, None, budget, None)


def test_model_without_common_api_format_is_a_usage_error(solve):
    with pytest.raises(UsageError, match="mine supports openai-chat; scripted offers gemini"):
        solve(preset(), wires=(ApiFormat.GEMINI_GENERATE,))


def test_preset_agent_declares_model_and_formats(tmp_path):
    agent = PresetAgent(preset(), toolboxes=tmp_path)
    assert isinstance(agent, NeedsMounts)
    assert isinstance(agent, UsesModel)
    assert agent.needs_model
    assert agent.api_formats == {ApiFormat.OPENAI_CHAT}
    assert agent.name == "mine"
    assert PresetAgent(preset(), toolboxes=tmp_path, name="./x.toml").name == "./x.toml"


def test_failing_installation_is_unavailable(bubblewrap, tmp_path):
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
def test_placeholders_are_filled_once(text, expected):
    assert fill_placeholders(text, {"a": "1", "b": "{a}"}) == expected


SHIPPED = shipped_presets()
NAMES = {
    "claude-code", "codex", "mini-swe-agent", "aider", "opencode", "gemini-cli", "qwen-code",
}  # fmt: skip
each = pytest.mark.parametrize("preset", SHIPPED, ids=lambda preset: preset.name)


def test_common_agents_are_shipped():
    assert {preset.name for preset in SHIPPED} >= NAMES
    assert [find_preset(preset.name) for preset in SHIPPED] == list(SHIPPED)


@each
def test_presets_pin_their_version(preset):
    packages = [*preset.install.npm, *preset.install.python]
    assert all(re.search(r"[=@]=?\d[\w.]*$", package) for package in packages)
    assert any(package.endswith(preset.version) for package in packages)


@each
def test_only_known_placeholders_are_used(preset):
    known = {"tools", "home", "model", "instruction", "max_steps", "workspace"}
    env = [value for spoken in preset.api_formats for value in spoken.env.values()]
    texts = [preset.command, preset.version_command, *preset.files.values(), *env]
    texts += preset.env.values()
    used = {name for text in texts for name in re.findall(r"\{([a-z_-]+)\}", text)}
    assert used <= known | {"agentbench-endpoint"}
    assert "agentbench-endpoint" not in re.findall(r"\{([a-z_-]+)\}", preset.command)


@each
def test_dry_run_script_ends_in_text_or_submit_call(preset):
    last = preset.dry_run[-1]
    assert last.say is not None or "SUBMIT" in str(last.arguments)


def test_unknown_name_is_no_preset():
    assert find_preset("nobody") is None


def test_preset_is_read_from_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TEXT)
    assert find_preset(str(path)).name == "mine"


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("name = ", "expected TOML"),
        (TEXT.replace('version = "1.0"\n', ""), "version: is missing"),
        (TEXT.replace("openai-chat", "telepathy"), "api_formats.0.api_format"),
        (TEXT.replace("version_command", "version_comand"), "did you mean version_command?"),
    ],
)
def test_all_faults_of_preset_file_are_reported(tmp_path, text, reported):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        find_preset(str(path))
    assert reported in str(caught.value)
    assert all(line.startswith(str(path)) for line in str(caught.value).splitlines())


def test_missing_preset_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="a preset that cannot be read: No such file"):
        find_preset(str(tmp_path / "none.toml"))


def test_preset_of_a_former_release_is_read():
    names = {
        "[[api_formats]]": "[[wires]]",
        "api_format =": "wire =",
        "[[dry_run]]": "[[rehearsal]]",
    }
    old = TEXT
    for new, former in names.items():
        assert new in old
        old = old.replace(new, former)
    env = 'URL = "{agentbench-door}"\n'
    old = old.replace("[[rehearsal]]", f"[wires.env]\n{env}\n[[rehearsal]]", 1) + f"\n[env]\n{env}"
    read = parse_preset(old, "old.toml")
    assert read.dry_run == parse_preset(TEXT, "new.toml").dry_run
    assert read.env == read.api_formats[-1].env == {"URL": "{agentbench-endpoint}"}
