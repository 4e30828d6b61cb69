import json

from agentbench.agents.built_in import BUILT_IN_AGENTS


def test_every_agent_has_a_line_with_its_name_first(cli):
    result = cli("agents", "list")
    assert result.code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[: len(BUILT_IN_AGENTS)]] == list(BUILT_IN_AGENTS)
    assert lines[-1].startswith("package.module:attribute")
    (line,) = [line for line in lines if line.startswith("codex ")]
    assert line.endswith("[openai-responses; 0.169.0]")


def test_agents_are_listed_as_json(cli):
    listed = {each["name"]: each for each in json.loads(cli("agents", "list", "--json").stdout)}
    assert list(listed)[: len(BUILT_IN_AGENTS)] == list(BUILT_IN_AGENTS)
    assert listed["noop"] == {
        "name": "noop",
        "about": BUILT_IN_AGENTS["noop"],
        "version": None,
        "api_formats": [],
    }
    assert listed["codex"]["api_formats"] == ["openai-responses"]
    assert listed["codex"]["version"] == "0.169.0"
