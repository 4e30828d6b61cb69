import pytest

from agentbench.mcp.local_project import ENVIRONMENT_FOLDERS, interpreter_candidates


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
