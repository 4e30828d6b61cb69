import ast
import json
import re
import shlex
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from agentbench.core import extras
from agentbench.core.extras import DISTRIBUTION, Extra, install_command, is_installed, require
from agentbench.errors import UsageError

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_OF_ANOTHER_PROJECT = re.compile(
    r"\b(?:pip|pipx|uv|uvx)\s(?!(?:run )?--(?:from|spec) dist/)"  # our own wheel
    r"[^`#\n]*?(?<![\w./-])agentbench(?![\w./-])"
)


def named_extras() -> list[str]:
    """The extras that messages of the program ask for."""
    calls = (
        node
        for file in ROOT.glob("src/agentbench/**/*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    words = [
        node.args[0]
        for node in calls
        if isinstance(node.func, ast.Name) and node.func.id in {"Extra", "install_command"}
    ]
    return sorted({word.value for word in words if isinstance(word, ast.Constant)})


def test_the_constant_is_the_distribution_s_name():
    assert PROJECT["name"] == DISTRIBUTION
    assert DISTRIBUTION != "agentbench"
    assert PROJECT["scripts"] == {"agentbench": "agentbench.__main__:program"}


def test_require_names_only_its_own_extra():
    own = [
        requirement
        for requirements in PROJECT["optional-dependencies"].values()
        for requirement in requirements
        if requirement.startswith("agentbench")
    ]
    assert own
    assert all(requirement.startswith(f"{DISTRIBUTION}[") for requirement in own)


@pytest.mark.parametrize(
    "text",
    ["pip install agentbench", "pip install -q 'agentbench[llm]'", "uvx agentbench run"],
)
def test_the_search_below_finds_the_name_of_the_other_project(text):
    assert _OF_ANOTHER_PROJECT.search(text)


def test_no_document_installs_the_other_project():
    files = [
        *ROOT.glob("*.md"), *ROOT.glob("docs/**/*"), *ROOT.glob("src/**/*.py"),
        *ROOT.glob("src/**/*.toml"), ROOT / "Makefile", ROOT / ".ci/run",
    ]  # fmt: skip
    found = [
        (str(file.relative_to(ROOT)), match[0])
        for file in files
        if file.is_file() and file.suffix != ".png"
        for match in _OF_ANOTHER_PROJECT.finditer(file.read_text("utf-8"))
    ]
    assert found == []


def test_every_extra_that_a_message_names_exists():
    assert set(named_extras()) > {"llm", "report"}
    assert set(named_extras()) <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (None, ["agentbench-verdict[llm,view]"]),
        ({"url": "file:///home/me/my%20clone", "dir_info": {"editable": True}},
         ["-e", "/home/me/my clone[llm,view]"]),
        ({"url": "file:///home/me/clone", "dir_info": {}}, ["/home/me/clone[llm,view]"]),
        ({"url": "file:///it's/clone", "dir_info": {}}, ["/it's/clone[llm,view]"]),
        ({"url": "file:///tmp/agentbench_verdict-0.1.0-py3-none-any.whl", "archive_info": {}},
         ["/tmp/agentbench_verdict-0.1.0-py3-none-any.whl[llm,view]"]),
        ({"url": "https://example.org/a.whl", "archive_info": {}},
         ["agentbench-verdict[llm,view] @ https://example.org/a.whl"]),
        ({"url": "https://example.org/a.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}},
         ["agentbench-verdict[llm,view] @ git+https://example.org/a.git@c0ffee"]),
        ({"url": "ssh://git@example.org/a.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"},
          "subdirectory": "tools"},
         ["agentbench-verdict[llm,view] @ git+ssh://git@example.org/a.git@c0ffee"
          "#subdirectory=tools"]),
        ({"no": "url"}, ["agentbench-verdict[llm,view]"]),
    ],
)  # fmt: skip
def test_install_command_names_the_origin(tmp_path, monkeypatch, origin, words):
    info = tmp_path / "agentbench_verdict-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: 0.1.0\n")
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(tmp_path)
    _pip, install, *rest = shlex.split(install_command("llm", "view").replace(" -m pip", ""))
    assert (install, rest) == ("install", words)


def test_a_pip_that_a_shell_would_not_find_is_named_in_full(monkeypatch):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert install_command("llm").startswith("pip install ")
    monkeypatch.setenv("PATH", "/nowhere")
    assert install_command("llm").startswith(f"{sys.executable} -m pip install ")


def test_a_package_that_was_put_on_the_path_is_installed_from_its_repository(monkeypatch):
    def missing(_name):
        raise PackageNotFoundError

    monkeypatch.setattr(extras, "distribution", missing)
    assert str(ROOT) in install_command("mcp")


EXTRAS = [value for value in vars(extras).values() if isinstance(value, Extra)]


@pytest.mark.parametrize("extra", EXTRAS)
def test_installed_extra_is_found(extra):
    assert is_installed(extra)
    require("this", extra)


def test_missing_library_is_named_with_the_command():
    extra = Extra("report", ("scipy", "no_such_library"))
    assert not is_installed(extra)
    with pytest.raises(UsageError) as described:
        require("agentbench compare", extra)
    assert str(described.value) == (
        "agentbench compare needs no_such_library, found none: " + install_command("report")
    )
