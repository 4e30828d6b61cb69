"""What `agentbench agents test` finds out about a preset that works, and about others."""

import pytest

from tests.e2e.models.client import CLIENT

pytestmark = pytest.mark.full

PRESET = f"""
name = "mine"
about = "does what its model says"
homepage = "https://agent.example"
version = "1.0"
command = "python {{tools}}/client.py openai-chat 1"
version_command = "echo 1.0"

[[api_formats]]
api_format = "openai-chat"

[install]
commands = ['''cat > client.py <<'END'
{CLIENT}
END''']

[[dry_run]]
say = "run: sed -i 's/a - b/a + b/' calc.py"

[[dry_run]]
say = "done"
"""


@pytest.fixture
def preset(tmp_path):
    """A preset of an agent that does what its model says, written for this test."""

    def write(**changes):
        text = PRESET
        for old, new in changes.values():
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return path

    return write


def test_what_works_of_a_preset_is_told_line_by_line(program, preset):
    result = program("agents", "test", preset(), "--sandbox", "bubblewrap")
    assert result.code == 0, result.stdout + result.stderr
    assert [line.split("  ")[:2] for line in result.stdout.splitlines()] == [
        ["ok", "installs"],
        ["ok", "starts"],
        ["ok", "reaches its model"],
        ["ok", "fixes the bug"],
        ["ok", "ends by itself"],
        ["ok", "tokens are counted"],
        ["ok", "reports a refused key"],
    ]
    assert "installed mine" in result.stderr


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        (("commands = [", 'commands = ["exit 4", '), ["installs"]),
        (('version = "1.0"', 'version = "2.0"'), ["starts"]),
        (
            ("python {tools}/client.py openai-chat 1", "true"),
            [
                "reaches its model",
                "fixes the bug",
                "tokens are counted",
                "reports a refused key",
            ],
        ),
    ],
)
def test_what_does_not_work_is_told_and_ends_with_1(program, preset, change, failing):
    result = program("agents", "test", preset(change=change), "--sandbox", "bubblewrap")
    assert result.code == 1, result.stdout + result.stderr
    lines = [line.split("  ") for line in result.stdout.splitlines()]
    assert [line[1] for line in lines if line[0] == "--"] == failing
