import subprocess

import pytest

from agentbench.importers.harbor import export, exported_image
from agentbench.importers.harbor.exported_table import WORKDIR
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import parse_pytest_command
from agentbench.tasks.task import RepoSource
from tests.e2e.small_task import SmallTask


@pytest.fixture
def task(tmp_path):
    (tmp_path / "small").mkdir()
    return load_task(SmallTask().write(tmp_path / "small"), mirrors=Mirrors(tmp_path / "mirrors"))


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("python -m pytest -q", "python -m pytest -p agentbench_judge -q tests/a.py"),
        ("pytest -k 'a or b'", "pytest -p agentbench_judge -k 'a or b' tests/a.py"),
    ],
)
def test_the_projects_own_command_runs_with_the_judge(command, line):
    text = export.test_sh(parse_pytest_command(command), ["tests/a.py"], [], WORKDIR)
    assert text.splitlines()[-1].endswith(f" {line}")
    subprocess.run(["bash", "-n"], input=text.encode(), check=True)


def test_files_that_the_hidden_tests_take_away_are_removed():
    text = export.test_sh(parse_pytest_command("pytest"), [], ["tests/old one.py"], WORKDIR)
    assert "rm -f -- 'tests/old one.py'\n" in text


def test_a_repository_of_a_url_is_cloned_at_its_commit_and_loses_its_history(task):
    source = RepoSource(url="https://example.org/x.git", commit="a" * 40)
    text = exported_image.dockerfile(task.model_copy(update={"source": source}), "FROM a")
    assert "git clone --quiet https://example.org/x.git . && git checkout --quiet aaaa" in text
    assert "rm -rf .git" in text


def test_variables_are_quoted_for_a_dockerfile(task):
    environment = task.environment.model_copy(update={"env": {"A": 'say "$HOME" \\ or'}})
    text = exported_image.dockerfile(task.model_copy(update={"environment": environment}), "FROM a")
    assert 'ENV A="say \\"\\$HOME\\" \\\\ or"\n' in text
