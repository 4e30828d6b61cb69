"""Files are worked on inside a sandbox with walls, by the modules that travel with the call."""

import ast
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.errors import SandboxError
from agentbench.extensions.llm import file_tools
from agentbench.extensions.llm.in_sandbox import editing
from tests.extensions.llm.conftest import called
from tests.extensions.llm.in_sandbox.test_paths import LEAVING
from tests.sandbox.conformance_base import sh

TOOLS = {
    "read_file": {},
    "list_files": {},
    "search": {"pattern": "root"},
    "edit": {"old_text": "root", "new_text": "x"},
}


def in_the_gate(tool: str, path: str) -> bool:
    return tool == "read_file" or path in {"out", "../secret"}


class Hasty:
    """A sandbox that gives no command more than a second."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def run(self, command):
        return self._inner.run(replace(command, timeout=timedelta(seconds=1)))


def test_what_is_done_inside_a_sandbox_is_what_it_sees(walled):
    assert not called(walled, "edit", path="d/a.py", old_text="", new_text="x = 1\n").failed
    sh(walled, "printf 'caf\\351\\n' > d/b.txt; printf 'q\\n' > \"$(printf 'd/\\001')\"")
    assert called(walled, "list_files").text == "d/\nd/'\\x01'\nd/a.py\nd/b.txt".replace(
        "d/'\\x01'", "'d/\\x01'"
    )
    assert called(walled, "search", pattern="caf").text == "d/b.txt:1: caf\ufffd"
    assert "U+FFFD" in called(walled, "read_file", path="d/b.txt").text
    assert sh(walled, "cat d/a.py").stdout == "x = 1\n"


# What leads out is decided in one place for all tools (inside/test_paths.py tries each path there):
# the gate tries each path with one tool, and each tool with two paths.
@pytest.mark.parametrize(
    ("tool", "path"),
    [
        pytest.param(tool, path, marks=() if in_the_gate(tool, path) else pytest.mark.soak)
        for tool in TOOLS
        for path in LEAVING
        if path != "dangling"
    ],
)
def test_no_tool_follows_a_path_out_of_the_workspace(walled, tool, path):
    sh(
        walled,
        "mkdir -p a; ln -s .. up; ln -s ../secret out; ln -s /etc/passwd absolute;"
        "echo root > ../secret 2>/dev/null; true",
    )
    reply = called(walled, tool, path=path, **TOOLS[tool])
    assert reply.failed
    assert reply.text.endswith("leads out of the workspace; give a path inside it")


def test_no_new_file_is_made_through_a_link(walled):
    sh(walled, "ln -s /tmp/elsewhere out; ln -s /tmp folder")
    for path in ("out", "folder/new", "folder/a/b"):
        assert called(walled, "edit", path=path, old_text="", new_text="x").failed
    assert sh(walled, "ls -A /tmp").stdout == ""


def test_a_broken_python_is_told_and_does_not_end_the_attempt(walled):
    sh(walled, 'for name in python python3; do rm -f "$VIRTUAL_ENV/bin/$name"; done; hash -r')
    sh(walled, 'printf "#!/bin/sh\\necho no >&2; exit 7\\n" > "$VIRTUAL_ENV/bin/python"')
    sh(walled, 'chmod +x "$VIRTUAL_ENV/bin/python"')
    reply = called(walled, "list_files")
    assert (reply.failed, reply.text) == (
        True,
        "list_files needs the `python` of the sandbox, which fails (exit code 7): no",
    )


def test_a_python_that_says_something_else_is_told_as_broken(walled):
    sh(walled, 'rm -f "$VIRTUAL_ENV/bin/python"; ln -s /bin/true "$VIRTUAL_ENV/bin/python"')
    assert "fails (exit code 0)" in called(walled, "list_files").text


def test_a_search_that_takes_for_ever_is_given_up(sandbox):
    Path(sandbox.workspace, "f").write_text("a" * 60 + "\n")
    reply = called(Hasty(sandbox), "search", pattern="(a|a)+b")
    assert (reply.failed, reply.text) == (True, "search timed out after 1 s; ask for less")


def test_a_lost_sandbox_is_not_told_to_the_model(sandbox):
    sandbox.lost = True
    with pytest.raises(SandboxError):
        called(sandbox, "list_files")


def test_the_modules_come_in_the_order_in_which_they_import_each_other():
    known = {f"{file_tools.PACKAGE}.{name}" for name in file_tools.MODULES}
    assert editing.__name__ in known
    for number, name in enumerate(file_tools.MODULES):
        later = file_tools.MODULES[number:]
        source = file_tools.source_of(name)
        assert not any(f"{file_tools.PACKAGE}.{module} import" in source for module in later)


@pytest.mark.parametrize("name", file_tools.MODULES)
def test_the_modules_can_be_read_by_the_oldest_python_of_a_sandbox(name):
    ast.parse(file_tools.source_of(name), feature_version=(3, 7))


def test_a_reply_is_of_bearable_size_whatever_names_files_bear(sandbox):
    for number in range(400):
        Path(sandbox.workspace, f"{number:03}{'ü' * 120}").touch()
    assert len(called(sandbox, "list_files").text) < file_tools.MAX_REPLY_LENGTH + 100
