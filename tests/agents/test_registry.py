import sys
from pathlib import Path

import pytest

from agentbench.agents.command import CommandAgent
from agentbench.agents.predictions import PredictionsAgent
from agentbench.agents.preset import PresetAgent
from agentbench.agents.reference import NoopAgent, OracleAgent
from agentbench.agents.registry import available_agents, create_agent
from agentbench.errors import InputError, UsageError
from agentbench.scoring.evidence import AgentEnding
from tests.agents.presets.minimal import TEXT

MODULE = """\
from agentbench.agents.interface import AgentOutcome
from agentbench.scoring.evidence import AgentEnding

DONE = AgentOutcome(ending=AgentEnding.SUBMITTED, detail="done")

def function(problem, sandbox, budget, model):
    return DONE

class Plain:
    def solve(self, problem, sandbox, budget, model):
        return DONE

class Needy(Plain):
    def __init__(self, key):
        self.key = key

class Broken(Plain):
    def __init__(self):
        raise RuntimeError("no key\\nin sight")

class Group:
    inner = Plain()

class Nothing:
    pass

instance = Plain()
nothing = None
number = 3

def three(problem, sandbox, budget):
    return DONE

def keyword_only(*, problem, sandbox, budget, model):
    return DONE

def rest(*parts):
    return DONE
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder that the user stands in, with a module of theirs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    (tmp_path / "my_agents.py").write_text(MODULE)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def selected(name, **options):
    return create_agent(name, patches={}, toolboxes=Path("nowhere"), **options)


def refusal(name, **options):
    with pytest.raises(UsageError) as caught:
        selected(name, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.exit_code == 2
    return message


def test_built_in_agent_is_created_by_name():
    assert isinstance(selected("oracle"), OracleAgent)
    assert isinstance(selected("noop"), NoopAgent)
    assert isinstance(selected("command", command="true"), CommandAgent)
    assert {name: selected(name).name for name in ("oracle", "noop")} == {
        "oracle": "oracle",
        "noop": "noop",
    }


def test_preset_is_created_by_name_or_file(tmp_path):
    agent = selected("claude-code")
    assert isinstance(agent, PresetAgent)
    path = tmp_path / "mine.toml"
    path.write_text(TEXT)
    assert selected(str(path)).name == str(path)
    assert available_agents()["codex"].startswith("Codex CLI")


def test_predictions_agent_is_created_by_file_and_model(tmp_path):
    path = tmp_path / "preds.jsonl"
    path.write_text('{"instance_id": "a", "model_name_or_path": "m", "model_patch": ""}\n')
    for name in (f"predictions:{path}", f"predictions:{path}#m"):
        agent = selected(name)
        assert isinstance(agent, PredictionsAgent)
        assert agent.name == name
    with pytest.raises(InputError, match="cannot be read"):
        selected("predictions:gone.jsonl")
    assert "expected a name that ends in .jsonl" in refusal("predictions:x")


def test_invalid_preset_is_an_input_error(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("name = 1")
    with pytest.raises(InputError):
        selected(str(path))


def test_every_listed_agent_can_be_created():
    for name in available_agents():
        assert selected(name, command="true" if name == "command" else None).name == name


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["function", "Plain", "instance", "Group.inner", "rest"])
def test_imported_agent_keeps_its_name(name):
    agent = selected(f"my_agents:{name}")
    assert agent.name == f"my_agents:{name}"
    outcome = agent.solve(None, None, None, None)
    assert (outcome.ending, outcome.detail) == (AgentEnding.SUBMITTED, "done")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("nobody", "no such agent; known: oracle, noop, command, "),
        ("", "no such agent"),
        ("my_agents", "no such agent"),
        ("my_agents:gone", "my_agents has no attribute 'gone'"),
        ("my_agents:", "my_agents has no attribute ''"),
        ("my_agents:nothing", "my_agents has no attribute 'nothing'"),
        ("my_agents:Plain.gone.more", "has no attribute 'Plain.gone.more'"),
        ("my_agents:number", "expected an object with solve(problem, sandbox, budget, model)"),
        ("my_agents:Nothing", "found Nothing"),
        ("my_agents:Needy", "Needy() cannot be created: TypeError: "),
        ("my_agents:Broken", "Broken() cannot be created: RuntimeError: no key in sight"),
        ("my_agents:three", "found (problem, sandbox, budget)"),
        ("my_agents:keyword_only", "expected a function of (problem, sandbox, budget, model)"),
        ("no_such_module_here:x", "there is no module 'no_such_module_here' in this folder"),
        ("my_agents.py:three", "for a file my_agents.py in this folder, write my_agents:three"),
        (":x", "but '' is not a module name"),
        (".relative:x", "but '.relative' is not a module name"),
        ("my agents:x", "there is no module 'my agents'"),
    ],
)
def test_object_that_is_no_agent_is_refused(name, result):
    message = refusal(name)
    shown = name or "''"
    assert message.startswith(f"--agent {shown}: ")
    assert result in message


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("def", "SyntaxError: invalid syntax"),
        ("import no_such_module_here", "ModuleNotFoundError: No module named"),
        ("nope", "NameError: name 'nope' is not defined"),
        ("{}['a']", "KeyError: 'a'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("assert False, 'set\\nKEY'", "AssertionError: set KEY"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("open('/no/such/file')", "FileNotFoundError: "),
    ],
)
def test_failing_import_is_reported_with_its_cause(here, body, result):
    (here / "broken.py").write_text(body)
    message = refusal("broken:agent")
    assert message.startswith("--agent broken:agent: cannot import 'broken': ")
    assert result in message


@pytest.mark.parametrize("command", [None, "", "  \n"])
def test_the_command_agent_needs_a_command(command):
    assert refusal("command", command=command) == "--agent command needs --agent-command '…'"


@pytest.mark.parametrize("name", ["oracle", "noop", "nobody"])
def test_agent_command_is_refused_for_other_agents(name):
    message = refusal(name, command="true")
    assert message == f"--agent-command goes with --agent command, found --agent {name}"


@pytest.fixture
def installed(here):
    """What another package's entry points would look like, found on the path."""

    def install(**agents):
        info = here / "my_agents-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-agents\nVersion: 1\n")
        lines = "".join(f"{name} = {value}\n" for name, value in agents.items())
        (info / "entry_points.txt").write_text(f"[agentbench.agents]\n{lines}")
        sys.path.insert(0, str(here))

    return install


def test_agent_of_entry_point_is_created_by_name(installed):
    installed(mine="my_agents:Plain")
    assert available_agents()["mine"] == "from my_agents:Plain"
    assert selected("mine").name == "mine"
    assert selected("mine").solve(None, None, None, None).detail == "done"


@pytest.mark.parametrize("value", ["my_agents:gone", "no_such_module_here:x"])
def test_entry_point_that_does_not_load_is_refused(installed, value):
    installed(mine=value)
    assert refusal("mine").startswith(f"--agent mine: cannot load {value}: ")
