from agentbench.agents.choose import BUILT_IN


def test_every_agent_has_a_line_with_its_name_first(cli):
    said = cli("agents", "list")
    assert said.code == 0, said.stderr
    lines = said.stdout.splitlines()
    assert [line.split()[0] for line in lines[: len(BUILT_IN)]] == list(BUILT_IN)
    assert lines[-1].startswith("package.module:attribute")


def test_without_a_command_the_commands_are_listed(cli):
    assert "list" in cli("agents", "--help").stdout
