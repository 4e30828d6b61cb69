import os
import subprocess
import sys

import pytest

from agentbench.core.display_text import without_credentials
from agentbench.tasks.host_git import GitResult, git
from tests.tasks.conditions import (
    odd_user,
    telltale,
    telltale_hooks,
)


def clone(url, tmp_path, **options):
    return git("clone", "--quiet", "--", url, "copy", cwd=tmp_path, isolated=False, **options)


def test_output_of_git_is_unchanged(origin):
    origin.write("bytes", "a\r\n\n")
    origin.commit()
    answer = git("cat-file", "blob", "HEAD:bytes", cwd=origin.path)
    assert (answer.ok, answer.stdout, answer.stderr) == (True, b"a\r\n\n", "")


def test_a_file_can_be_its_standard_input(tmp_path):
    (tmp_path / "x").write_bytes(b"hello\n")
    answer = git("hash-object", "--stdin", cwd=tmp_path, stdin=tmp_path / "x")
    assert answer.stdout == b"ce013625030ba8dba906f756967f9e9ca394464a\n"


def test_error_message_is_one_line_without_credentials():
    answer = GitResult(
        status=128,
        stdout=b"",
        stderr="Cloning into 'x'...\nwarning: redirecting\n"
        "ssh: connect to host h port 22:\tConnection refused\r\n"
        "fatal: unable to access 'https://me:s3cr3t@host/x/'\n\n"
        "Please make sure you have the correct access rights\nand the repository exists.\n",
    )
    assert answer.error_message == (
        "ssh: connect to host h port 22: Connection refused; "
        "fatal: unable to access 'https://host/x/'"
    )


def test_error_message_without_output_names_exit_status():
    assert GitResult(status=3, stdout=b"", stderr=" \n").error_message == "git exited 3"
    long = GitResult(status=3, stdout=b"", stderr="x" * 999).error_message
    assert long == f"{'x' * 399}…"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("https://me:pw@host/x", "https://host/x"),
        ("https://token@host/x", "https://host/x"),
        ("https://me:p@w:x@host/x", "https://host/x"),
        ("a https://me:pw@h/x and ssh://git@h:22/y", "a https://h/x and ssh://h:22/y"),
        ("https://host/a@b", "https://host/a@b"),
        ("git@host:x", "git@host:x"),
    ],
)
def test_only_credentials_are_removed_from_urls(text, clean):
    assert without_credentials(text) == clean


def test_isolated_git_ignores_user_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(odd_user(tmp_path / "home", tmp_path / "marker")))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "From The Environment")
    ask = ("config", "--get", "user.name")
    assert git(*ask, cwd=tmp_path).stdout == b""
    assert git(*ask, cwd=tmp_path, isolated=False).stdout == b"From The Environment\n"


@pytest.mark.parametrize("isolated", [True, False])
def test_variables_of_git_hook_are_ignored(origin, tmp_path, monkeypatch, isolated):
    origin.commit()
    for name, path in {
        "GIT_DIR": origin.path / ".git",
        "GIT_WORK_TREE": origin.path,
        "GIT_INDEX_FILE": tmp_path / "index",
        "GIT_OBJECT_DIRECTORY": tmp_path / "objects",
    }.items():
        monkeypatch.setenv(name, str(path))
    (tmp_path / "new").mkdir()
    assert git("init", "--quiet", ".", cwd=tmp_path / "new", isolated=isolated).ok
    asked = git("rev-parse", "--absolute-git-dir", cwd=tmp_path / "new", isolated=isolated)
    assert asked.stdout.decode().strip() == str(tmp_path / "new" / ".git")
    (tmp_path / "new" / "a").write_text("a")
    assert git("add", "a", cwd=tmp_path / "new", isolated=isolated).ok
    assert not (tmp_path / "index").exists()
    assert not (tmp_path / "objects").exists()


def test_programs_of_repository_are_not_run(origin, tmp_path):
    marker = tmp_path / "marker"
    origin.write("a", "1")
    origin.commit()
    telltale_hooks(origin.path / ".git" / "hooks", marker)
    monitor = str(telltale(tmp_path / "monitor", marker))
    origin.git("config", "core.fsmonitor", monitor)
    assert git("status", "--porcelain", cwd=origin.path).ok
    origin.write("a", "2")
    assert git("commit", "--quiet", "--all", "--message", "x", cwd=origin.path).ok
    assert not marker.exists()


@pytest.mark.parametrize("url", ["ext::sh -c 'touch marker'", "http://127.0.0.1:1/x", "fd::3"])
def test_unsafe_transports_are_disabled(tmp_path, url):
    answer = clone(url, tmp_path)
    assert not answer.ok
    assert "not allowed" in answer.error_message
    assert not (tmp_path / "marker").exists()


def test_git_never_prompts(tmp_path, monkeypatch):
    monkeypatch.delenv("GIT_TERMINAL_PROMPT", raising=False)
    answer = git("var", "GIT_EDITOR", cwd=tmp_path, env={"GIT_EDITOR": "x"})
    assert answer.stdout == b"x\n"
    output = git("-c", "alias.ask=!echo $GIT_TERMINAL_PROMPT", "ask", cwd=tmp_path)
    assert output.stdout == b"0\n"


def test_missing_git_is_unavailable(tmp_path):
    program = (
        "from pathlib import Path\n"
        "from agentbench.errors import UnavailableError\n"
        "from agentbench.tasks.host_git import git\n"
        "try:\n    git('--version', cwd=Path('/'))\n"
        "except UnavailableError as error:\n    print(error)\n"
    )
    env = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout == "git is not on PATH, or does not run: install git\n", done.stderr
