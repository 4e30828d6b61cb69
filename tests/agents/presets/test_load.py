"""The presets that ship, and those of a user's own."""

import re

import pytest

from agentbench.agents.preset import find_preset, shipped_presets
from agentbench.errors import InputError
from tests.agents.presets.minimal import TEXT

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
