import json
import re
from pathlib import Path
from threading import Event

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentbench.errors import SandboxError
from agentbench.extensions.llm.tools import EFFECT_OF_TOOL, MAX_REPLY_LENGTH, tool_specs, use_tool
from agentbench.mcp.pytest_tools import PytestTool, call_pytest_tool, call_result
from agentbench.models.conversation import ModelToolCall, ToolReply
from agentbench.scoring.evidence import Ending
from agentbench.test_tools.agent_texts import MAX_OUTPUT_LENGTH, escape_control, terminal_text
from agentbench.test_tools.arguments import read_arguments
from agentbench.test_tools.envelope import PytestAnswer
from agentbench.test_tools.project import CallControl
from tests.extensions.llm.conftest import Ended, called, context_of
from tests.extensions.llm.test_in_sandbox import LEAVING
from tests.patience import with_growing_limit
from tests.sandbox.conformance_base import sh

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=9,
)
HARMLESS = sorted(set(EFFECT_OF_TOOL) - {"run", "run_tests"})
ANY = st.text(st.characters(exclude_categories=[]), max_size=50)
FILE_TOOLS = {"read_file": {}, "edit": {"old_text": "root", "new_text": "x"}}
SUITE = """\
import pytest

def test_pass(): pass
def test_fail(): assert [1, 2] == [1, 3], "ü\\x1b[31m"
@pytest.mark.skip(reason="not now")
def test_skip(): pass
@pytest.mark.parametrize("x", ["a b", "ü"])
def test_param(x): print(x)
"""
CALLS = [
    {},
    {"keyword": "pass", "max_failures": 1},
    {"paths": ["tests"], "detail": "full"},
    {"node_ids": ["tests/test_s.py::test_fail"]},
    {"paths": ["../.."]},
    {"paths": ["nowhere"]},
    {"keyword": "(("},
]
TIMES = {"duration", "created"}


@given(ANY)
def test_any_text_becomes_printable(text):
    for safe in (escape_control(text), terminal_text(text)):
        assert json.loads(json.dumps(safe).encode()) == safe
        safe.encode()
        assert not any(character < " " and character not in "\n\t" for character in safe)
        assert not any("\x7f" <= character <= "\x9f" for character in safe)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=50))
def test_plain_text_is_unchanged(text):
    assert escape_control(text) == terminal_text(text) == text


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10%\r20%\r\ndone", "10%\n20%\ndone"),
        ("a\x00b\x08", "a\\x00b\\x08"),
        ("\ud83d", "\ufffd"),
        ("\x9b31m", "\\x9b31m"),
    ],
)
def test_terminal_codes_are_removed(printed, shown):
    assert terminal_text(printed) == shown


def test_escape_in_a_file_is_made_visible():
    assert escape_control("\x1b[1m\tx\r") == "\\x1b[1m\tx\\x0d"


@pytest.mark.parametrize("spec", tool_specs(), ids=lambda spec: spec.name)
def test_tool_schema_is_closed_and_described(spec):
    jsonschema.Draft202012Validator.check_schema(spec.schema)
    assert spec.schema["additionalProperties"] is False
    assert spec.description
    for name, field in spec.schema["properties"].items():
        assert field["type"] in ("string", "integer", "boolean", "array") or "enum" in field
        assert field.get("description") or name == "ignore_case"


def test_submit_is_answered(sandbox):
    assert called(sandbox, "submit") == ToolReply(text="submitted")
    assert called(sandbox, "submit", summary=None) == ToolReply(text="submitted")


def test_null_is_an_argument_that_is_not_given(sandbox):
    Path(sandbox.workspace, "a.py").write_text("x = 1\n")
    assert not called(sandbox, "read_file", path="a.py", end_line=None).failed


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.sampled_from([*HARMLESS, "", "fly"]), st.dictionaries(st.text(), JSON) | JSON)
def test_any_call_is_answered(sandbox, name, given):
    call = ModelToolCall(id="1", name=name, arguments=json.dumps(given))
    reply = use_tool(context_of(sandbox), call)
    assert reply.text
    reply.text.encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=[])), st.text(st.characters(exclude_categories=[])))
def test_malformed_call_is_answered_in_plain_text(sandbox, name, arguments):
    reply = use_tool(context_of(sandbox), ModelToolCall(id="1", name=f"{name}?", arguments="{"))
    assert reply.failed
    assert reply.text.isascii()
    reply = use_tool(
        context_of(sandbox), ModelToolCall(id="1", name="read_file", arguments=f"{arguments}!")
    )
    assert reply.failed
    reply.text.encode()


@pytest.mark.parametrize("arguments", ["[" * 100_000, "9" * 10_000, "NaN", '{"path": NaN}', "\0"])
def test_hostile_json_is_refused(sandbox, arguments):
    reply = use_tool(
        context_of(sandbox), ModelToolCall(id="1", name="read_file", arguments=arguments)
    )
    assert reply.failed
    assert len(reply.text) < 1_000


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo a; echo b >&2; echo c", "[exit code 0]\na\nb\nc"),
        ("exit 3", "[exit code 3, no output]"),
        ("false | true; echo ${PIPESTATUS[0]:-no bash}", "[exit code 0]\n1"),
        ("printf '\\033[31mred\\033[0m\\000'", "[exit code 0]\nred\\x00"),
        ("printf '\\377'", "[exit code 0]\n\ufffd"),
        ("pwd | tail -c 10", "[exit code 0]\nworkspace"),
        ("cat", "[exit code 0, no output]"),
        ("no-such-program-here 2>/dev/null", "[exit code 127, no output]"),
        ("kill -9 $$", "[killed by signal 9, no output]"),
    ],
)
def test_command_is_answered_with_exit_code_and_output(sandbox, command, text):
    reply = called(sandbox, "run", command=command)
    assert (reply.failed, reply.text) == (False, text)


def test_command_past_its_deadline_is_killed_with_its_children(isolated):
    def called_for(seconds):
        line = "echo begun; sleep 600 & sleep 600"
        return seconds, called(isolated, "run", command=line, timeout_s=seconds)

    seconds, reply = with_growing_limit(
        called_for, lambda ended: "begun" in ended[1].text, limits=(1, 10, 60)
    )
    assert reply.text == f"[killed at its deadline, after {seconds} s]\nbegun"
    assert not reply.failed
    assert sh(isolated, "pgrep sleep || true").stdout == ""


def test_long_output_keeps_head_and_tail(isolated):
    reply = called(isolated, "run", command="seq 1 100000")
    assert len(reply.text) < MAX_OUTPUT_LENGTH + 200
    assert reply.text.startswith("[exit code 0]\n1\n2\n")
    assert reply.text.endswith("\n99999\n100000")
    assert "characters left out" in reply.text


def test_pager_is_turned_off(sandbox):
    Path(sandbox.workspace, "f").write_text("x\n")
    reply = called(sandbox, "run", command="git init -q; git add f; git diff --cached --stat; env")
    assert "1 file changed" in reply.text
    assert "TERM=dumb" in reply.text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"command": ""}, "command: String should have at least 1 character"),
        ({"command": "a\0b"}, "command: has a NUL character"),
        ({"command": "\ud800"}, "command: Input should be a valid string"),
        ({"command": "x" * 40_000}, "command: String should have at most 30000 characters"),
        ({"command": "true", "timeout_s": 0}, "timeout_s: "),
        ({"command": "true", "timeout_s": 9e9}, "timeout_s: "),
        ({"command": ["ls"]}, "command: Input should be a valid string"),
        ({}, "command: Field required"),
    ],
)
def test_invalid_command_is_refused(sandbox, given, message):
    reply = called(sandbox, "run", **given)
    assert reply.failed
    assert reply.text.startswith(f"invalid arguments: {message}")


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (Ending.OUT_OF_MEMORY, "killed: out of memory"),
        (Ending.OUT_OF_DISK, "killed: out of disk (limit 64 MiB); remove something"),
        (Ending.LOST, "lost"),
    ],
)
def test_ending_without_exit_code_is_named(ending, text):
    assert called(Ended(ending), "run", command="x").text == f"[{text}, no output]"


def test_file_is_created_read_and_changed(sandbox):
    assert called(sandbox, "edit", path="a.py", old_text="", new_text="x = 1\n").text == (
        "a.py: written, 6 bytes"
    )
    assert called(sandbox, "read_file", path="a.py").text.endswith("     1\tx = 1")
    assert not called(sandbox, "edit", path="a.py", old_text="1", new_text="2").failed
    assert Path(sandbox.workspace, "a.py").read_text() == "x = 2\n"


def test_end_line_before_start_line_is_refused(sandbox):
    reply = called(sandbox, "read_file", path="a.py", start_line=3, end_line=2)
    assert (reply.failed, reply.text) == (True, "end_line is before start_line")


def test_control_characters_of_a_file_are_visible(sandbox):
    Path(sandbox.workspace, "a").write_bytes(b"\x1b[1mbold\x07\r\n")
    assert called(sandbox, "read_file", path="a").text.endswith("     1\t\\x1b[1mbold\\x07")


def test_file_tools_work_inside_the_sandbox(isolated):
    assert not called(isolated, "edit", path="d/a.py", old_text="", new_text="x = 1\n").failed
    sh(isolated, "printf 'caf\\351\\n' > d/b.txt")
    assert "U+FFFD" in called(isolated, "read_file", path="d/b.txt").text
    assert sh(isolated, "cat d/a.py").stdout == "x = 1\n"


# test_in_sandbox.py tries each path without a sandbox: here each tool tries two of them.
@pytest.mark.parametrize("tool", FILE_TOOLS)
@pytest.mark.parametrize("path", LEAVING[:3:2])
def test_file_tool_refuses_a_path_out_of_the_workspace(isolated, tool, path):
    sh(
        isolated,
        "mkdir -p a; ln -s .. up; ln -s ../secret out; ln -s /etc/passwd absolute;"
        "echo root > ../secret 2>/dev/null; true",
    )
    reply = called(isolated, tool, path=path, **FILE_TOOLS[tool])
    assert reply.failed
    assert reply.text.endswith("leads out of the workspace; give a path inside it")


def test_no_file_is_created_through_a_link(isolated):
    sh(isolated, "ln -s /tmp/elsewhere out; ln -s /tmp folder")
    for path in ("out", "folder/new", "folder/a/b"):
        assert called(isolated, "edit", path=path, old_text="", new_text="x").failed
    assert sh(isolated, "ls -A /tmp").stdout == ""


def test_broken_python_is_reported(isolated):
    sh(isolated, 'for name in python python3; do rm -f "$VIRTUAL_ENV/bin/$name"; done; hash -r')
    sh(isolated, 'printf "#!/bin/sh\\necho no >&2; exit 7\\n" > "$VIRTUAL_ENV/bin/python"')
    sh(isolated, 'chmod +x "$VIRTUAL_ENV/bin/python"')
    reply = called(isolated, "read_file", path="a")
    assert (reply.failed, reply.text) == (
        True,
        "read_file needs the `python` of the sandbox, which fails (exit code 7): no",
    )


def test_python_without_an_answer_is_reported(isolated):
    sh(isolated, 'rm -f "$VIRTUAL_ENV/bin/python"; ln -s /bin/true "$VIRTUAL_ENV/bin/python"')
    assert "fails (exit code 0)" in called(isolated, "read_file", path="a").text


def test_lost_sandbox_raises(sandbox):
    sandbox.lost = True
    with pytest.raises(SandboxError):
        called(sandbox, "read_file", path="a")


def test_reply_is_bounded(sandbox):
    Path(sandbox.workspace, "a").write_text("\x01" * 1_000_000)
    assert len(called(sandbox, "read_file", path="a").text) < MAX_REPLY_LENGTH + 100


@pytest.fixture
def suite(sandbox):
    folder = Path(sandbox.workspace)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_s.py").write_text(SUITE)
    (folder / "broken").mkdir()
    (folder / "broken" / "test_b.py").write_text("import nowhere\n")
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    return sandbox


def without_time(value):
    if isinstance(value, dict):
        return {name: without_time(item) for name, item in value.items() if name not in TIMES}
    if isinstance(value, list):
        return [without_time(item) for item in value]
    return re.sub(r"\d+\.\d\d+s?|[0-9a-f]{32}", "…", value) if isinstance(value, str) else value


@pytest.mark.parametrize("given", CALLS, ids=str)
def test_run_tests_answers_like_the_mcp_server(suite, given):
    answer = json.loads(called(suite, "run_tests", **given).text)
    arguments = read_arguments(PytestTool.EXECUTE.arguments, given)
    served = call_pytest_tool(context_of(suite).project, arguments, CallControl(cancel=Event()))
    sent = json.loads(call_result(served).content[0].text)
    assert set(answer) == set(served) == set(PytestAnswer.model_fields)
    assert without_time(answer) == without_time(sent)


def test_failing_tests_are_no_failed_call(suite):
    assert not called(suite, "run_tests").failed
    assert called(suite, "run_tests", paths=["../.."]).failed
    assert called(suite, "run_tests", paths=["nowhere"]).failed
    assert called(suite, "run_tests", bogus=1).text.startswith("invalid arguments: bogus: Extra")


def test_link_out_of_the_workspace_is_refused_by_run_tests(isolated):
    called(isolated, "run", command="ln -s /usr link; echo 'def test_a(): pass' > test_a.py")
    outside = json.loads(called(isolated, "run_tests", paths=["link"]).text)
    assert outside["outcome"] == "path_outside_root"
    ours = called(isolated, "run_tests", paths=["test_a.py"])
    assert json.loads(ours.text)["outcome"] == "passed"


def test_answer_of_noisy_tests_is_bounded(suite):
    noisy = "def test_n():\n    print('x' * 5_000_000)\n    assert 0\n"
    Path(suite.workspace, "tests", "test_n.py").write_text(noisy)
    assert len(called(suite, "run_tests").text) < 40_000
