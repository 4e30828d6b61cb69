import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import agentbench
from agentbench.core.extras import DISTRIBUTION


def test_every_public_name_leads_to_the_thing_of_that_name():
    for name in set(agentbench.__all__) - {"__version__"}:
        assert getattr(agentbench, name).__name__ == name


def test_completion_shows_the_public_names():
    assert set(agentbench.__all__) <= set(dir(agentbench))


def test_a_name_that_is_not_there_is_missed_as_everywhere():
    with pytest.raises(AttributeError, match="module 'agentbench' has no attribute 'nothing'"):
        _ = agentbench.nothing


def test_the_version_is_the_packages():
    assert agentbench.__version__ == version(DISTRIBUTION)


def test_the_changelog_begins_with_this_version_or_with_what_follows_it():
    changelog = Path(__file__).parents[1] / "CHANGELOG.md"
    sections = re.findall(r"^## (\S+)", changelog.read_text("utf-8"), re.MULTILINE)
    assert agentbench.__version__ == next(each for each in sections if each != "Unreleased")
    assert "Unreleased" not in sections[1:]


def test_importing_the_package_imports_nothing_heavy():
    program = "import sys, agentbench; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "agentbench" in loaded
    assert not loaded & {"pydantic", "docker", "git", "typer", "rich", "tomlkit"}
