"""A preset of the fewest words, for tests to add to."""

from agentbench.agents.preset import Preset, parse_preset

TEXT = """
name = "mine"
about = "an agent of mine"
homepage = "https://agent.example"
version = "1.0"
command = "{tools}/mine"
version_command = "{tools}/mine --version"

[[api_formats]]
api_format = "openai-chat"

[install]
commands = ["printf '#!/bin/sh\\\\ncat\\\\n' > mine", "chmod +x mine"]

[[dry_run]]
say = "done"
"""


def preset(**changes: object) -> Preset:
    """The preset with some fields changed, checked as from a file."""
    result = parse_preset(TEXT, "mine.toml").model_dump()
    return Preset.model_validate({**result, **changes})
