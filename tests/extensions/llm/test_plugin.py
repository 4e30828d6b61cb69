import subprocess
import sys

import pytest

from agentbench.agents.registry import create_agent
from agentbench.core.extras import install_command
from agentbench.errors import UsageError
from tests.e2e.small_task import SmallTask


def test_built_in_agent_is_made_without_its_libraries_being_imported():
    script = (
        "import sys; from agentbench.agents.registry import create_agent\n"
        "assert create_agent('llm', patches={}).name == 'llm'\n"
        "sys.exit(bool({'openai', 'anthropic', 'httpx2'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("library", ["openai", "anthropic", "httpx2"])
def test_built_in_agent_says_how_to_get_what_it_lacks(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError) as caught:
        create_agent("llm", patches={})
    assert str(caught.value) == (
        f"--agent llm needs {library}, found none: {install_command('llm')}"
    )


def test_run_without_a_model_is_refused(cli, tmp_path):
    SmallTask().write(tmp_path / "small")
    result = cli("run", tmp_path / "small", "--agent", "llm")
    assert result.code == 2
    assert "--agent llm needs --model, as in --model openai/NAME" in result.stderr
