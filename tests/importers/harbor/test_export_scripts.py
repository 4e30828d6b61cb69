import subprocess

import pytest

from agentbench.importers.harbor import export, exported_image
from agentbench.importers.harbor.exported_table import WORKDIR
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import RepoSource
from agentbench.tasks.test_command import parse_test_command
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
    text = export.test_sh(parse_test_command(command), ["tests/a.py"], [], WORKDIR, ())
    assert text.splitlines()[-1].endswith(f" {line}")
    subprocess.run(["bash", "-n"], input=text.encode(), check=True)


def test_commands_before_the_tests_run_after_the_hidden_tests_are_copied():
    build = ("python setup.py build_ext", "echo 'a b'")
    text = export.test_sh(parse_test_command("pytest"), [], [], WORKDIR, build)
    lines = text[text.index("cp -R") :].splitlines()
    assert lines[1:3] == [
        "sh -c 'python setup.py build_ext' || exit 1",
        """sh -c 'echo '"'"'a b'"'"'' || exit 1""",
    ]
    subprocess.run(["bash", "-n"], input=text.encode(), check=True)


@pytest.mark.parametrize("folder", ["", "vendored", "a/b"])
def test_no_history_of_a_tasks_files_is_exported(task, tmp_path, folder):
    history = task.source.files / folder / ".git"
    history.mkdir(parents=True)
    (history / "HEAD").write_text("ref: refs/heads/main\n")
    exported_image.write_environment(task, tmp_path / "environment", "python:3")
    assert (tmp_path / "environment" / "agentbench-repo" / "basket.py").is_file()
    assert not list((tmp_path / "environment").rglob(".git"))


def test_no_history_is_exported_with_a_dockerfile_among_the_files(task, tmp_path):
    (task.source.files / ".git").mkdir()
    (task.source.files / "Dockerfile").write_text("FROM python:3\n")
    own = {"dockerfile": task.source.files / "Dockerfile"}
    environment = task.environment.replace(**own)
    changed = task.replace(environment=environment)
    exported_image.write_environment(changed, tmp_path / "environment", "python:3")
    assert not list((tmp_path / "environment").rglob(".git"))


def test_a_bundle_is_removed_from_the_image(task):
    source = RepoSource(url="/tasks/x/repo.bundle", commit="a" * 40)
    changed = task.replace(source=source)
    text = exported_image.dockerfile(changed, "FROM a", bundle="repo.bundle")
    (cloned,) = [line for line in text.splitlines() if "git clone" in line]
    assert "&& rm -rf .git /tmp/repo.bundle" in cloned


def test_files_that_the_hidden_tests_take_away_are_removed():
    text = export.test_sh(parse_test_command("pytest"), [], ["tests/old one.py"], WORKDIR, ())
    assert "rm -f -- 'tests/old one.py'\n" in text


def test_a_repository_of_a_url_is_cloned_at_its_commit_and_loses_its_history(task):
    source = RepoSource(url="https://example.org/x.git", commit="a" * 40)
    text = exported_image.dockerfile(task.replace(source=source), "FROM a")
    assert "git clone --quiet https://example.org/x.git . && git checkout --quiet aaaa" in text
    assert "rm -rf .git" in text


def test_variables_are_quoted_for_a_dockerfile(task):
    environment = task.environment.replace(env={"A": 'say "$HOME" \\ or'})
    text = exported_image.dockerfile(task.replace(environment=environment), "FROM a")
    assert 'ENV A="say \\"\\$HOME\\" \\\\ or"\n' in text
