import os
from pathlib import Path

import pytest

from agentbench.errors import UsageError
from agentbench.mcp.local_project import ENVIRONMENT_FOLDERS, interpreter_candidates, local_project


def names(root, **environ):
    return [
        found.name.partition(" (")[0]
        for found in interpreter_candidates(root, explicit=None, environ=environ)
    ]


@pytest.fixture
def program(tmp_path):
    """A folder with an executable python, as it stands on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python").write_text("")
    (folder / "python").chmod(0o755)
    return folder


def test_the_order_is_that_of_the_decision(tmp_path, program):
    environ = {"VIRTUAL_ENV": "/some/env", "PATH": str(program)}
    assert names(tmp_path, **environ) == ["VIRTUAL_ENV", *ENVIRONMENT_FOLDERS, "python on PATH"]
    assert ENVIRONMENT_FOLDERS == (".venv", "venv", ".virtualenv")


def test_without_an_activated_environment_the_projects_own_come_first(tmp_path):
    assert names(tmp_path, PATH="/nowhere") == list(ENVIRONMENT_FOLDERS)
    assert names(tmp_path, VIRTUAL_ENV="", PATH="/nowhere") == list(ENVIRONMENT_FOLDERS)


@pytest.mark.parametrize("given", [".", "bin/python"])
def test_an_explicit_one_is_the_only_one(tmp_path, program, given):
    environ = {"VIRTUAL_ENV": "/some/env", "PATH": str(program)}
    (found,) = interpreter_candidates(tmp_path, explicit=tmp_path / given, environ=environ)
    assert found.command.interpreter == str(program / "python")
    assert not found.missing


def test_one_that_is_not_there_says_so(tmp_path):
    found = interpreter_candidates(tmp_path, explicit=None, environ={"PATH": "/nowhere"})
    assert all(candidate.missing for candidate in found)


def test_the_root_is_resolved(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    project = local_project(tmp_path / "link", python=None, environ=os.environ)
    assert Path(project.root) == tmp_path / "real"


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_a_root_that_is_no_folder_is_refused(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="--root: expected a folder"):
        local_project(tmp_path / name, python=None, environ=os.environ)


def test_an_interpreter_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"--python: there is no interpreter at .*/bin/python"):
        local_project(tmp_path, python=tmp_path, environ=os.environ)


def test_the_interpreter_is_looked_for_anew_at_each_call(tmp_path, plain_python):
    project = local_project(tmp_path, python=None, environ={"PATH": "/nowhere"})
    assert all(interpreter.missing for interpreter in project.interpreters())
    (tmp_path / ".venv").symlink_to(plain_python.parents[1])
    assert [interpreter.missing for interpreter in project.interpreters()] == [False, True, True]


def test_the_home_of_the_user_is_masked_although_it_has_a_space(tmp_path):
    environ = {"HOME": "/home/Jane Doe", "PATH": os.environ["PATH"]}
    project = local_project(tmp_path, python=None, environ=environ)
    assert project.mask.text("in /home/Jane Doe/.cache/x") == "in <host>"
    assert project.mask.text(f"in {tmp_path}/tests") == "in tests"
