"""The actions in tool calls of all kinds of clients."""

from typing import Any

import pytest

from agentbench.extensions.behaviour.actions import Action, Call, actions_of, calls_of, is_same_file
from agentbench.extensions.behaviour.commands import ActionKind
from agentbench.models.conversation import Role
from agentbench.models.trajectory import Observation, ObservationResult, Step, ToolCall

PATCH = "*** Begin Patch\n*** Update File: a.py\n*** End Patch"


def actions(name: str, arguments: dict[str, Any]) -> list[Action]:
    return list(actions_of(Call(step=1, name=name, arguments=arguments, answer="")))


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("Read", {"file_path": "/w/a.py"}, ActionKind.READ),
        ("Edit", {"file_path": "/w/a.py", "old_string": "x", "new_string": "y"}, ActionKind.EDIT),
        ("Write", {"file_path": "/w/a.py", "content": "x"}, ActionKind.EDIT),
        ("Grep", {"pattern": "x", "path": "/w/a.py"}, ActionKind.SEARCH),
        ("Bash", {"command": "cat a.py"}, ActionKind.READ),
        ("shell", {"command": ["bash", "-lc", "cat a.py"]}, ActionKind.READ),
        ("shell", {"command": ["cat", "a.py"]}, ActionKind.READ),
        ("exec_command", {"cmd": "cat a.py", "workdir": "/w"}, ActionKind.READ),
        ("apply_patch", {"input": PATCH}, ActionKind.EDIT),
        ("apply_patch", {"_unparsed": PATCH}, ActionKind.EDIT),
        ("shell", {"command": ["apply_patch", PATCH]}, ActionKind.EDIT),
        ("edit", {"filePath": "/w/a.py", "oldString": "x", "newString": "y"}, ActionKind.EDIT),
        ("replace", {"file_path": "a.py", "old_string": "x", "new_string": ""}, ActionKind.EDIT),
        ("str_replace_editor", {"command": "view", "path": "/w/a.py"}, ActionKind.READ),
        ("str_replace_editor", {"command": "create", "path": "a.py"}, ActionKind.EDIT),
        ("text_editor", {"command": "undo_edit", "path": "a.py"}, ActionKind.REVERT),
        ("read_file", {"absolute_path": "/w/a.py"}, ActionKind.READ),
        ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": "x"}]}, ActionKind.EDIT),
    ],
)
def test_tool_call_is_about_the_file(
    name: str, arguments: dict[str, Any], kind: ActionKind
) -> None:
    (action,) = actions(name, arguments)
    assert action.kind is kind
    assert action.names("a.py")


@pytest.mark.parametrize("name", ["run_tests", "execute_tests", "mcp__agentbench__execute_tests"])
def test_test_tool_is_a_test_run(name: str) -> None:
    assert [action.kind for action in actions(name, {"targets": ["a.py"]})] == [ActionKind.TEST]


@pytest.mark.parametrize(
    ("written", "is_same"),
    [("src/a.py", True), ("/w/src/a.py", True), ("a.py", True), ("./src/a.py", True),
     ("src/*.py", True), ("/w/src/?.py", True), ("src/b.py", False), ("other/a.py", False),
     ("xa.py", False), ("src", False), ("*.md", False)],
)  # fmt: skip
def test_written_path_means_the_file(written: str, is_same: bool) -> None:
    assert is_same_file(written, "src/a.py") is is_same


def step(number: int, **given: Any) -> Step:
    return Step(step_id=number, **given)


def test_each_call_has_its_own_answer() -> None:
    calls = [ToolCall(tool_call_id=i, function_name="Bash", arguments={}) for i in ("1", "2")]
    results = [ObservationResult(source_call_id=i, content=f"of {i}") for i in ("2", "1")]
    steps = [
        step(1, source=Role.AGENT, message="", tool_calls=tuple(calls),
             observation=Observation(results=tuple(results))),
    ]  # fmt: skip
    assert [call.answer for call in calls_of(steps)] == ["of 1", "of 2"]


def test_commands_in_text_are_calls_of_an_agent_without_tools() -> None:
    steps = [
        step(1, source=Role.AGENT, message="I look.\n```bash\ncat a.py\n```"),
        step(2, source=Role.USER, message="x = 1"),
    ]
    (call,) = calls_of(steps)
    assert (call.as_text(), call.answer) == ("cat a.py", "x = 1")


def test_calls_whose_answers_differ_only_in_times_are_the_same() -> None:
    one = Call(step=1, name="t", arguments={}, answer="1 failed in 0.12s at 0x7f12")
    other = Call(step=2, name="t", arguments={}, answer="1 failed in 3.40s at 0x9a00")
    assert one.same_with_answer == other.same_with_answer
