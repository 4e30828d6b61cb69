"""Real clients with a behaviour by construction, and near misses without it.

The calls are those of the clients' own tools, which the rules have to understand.
"""

from dataclasses import dataclass

from agentbench.extensions.behaviour.tags import Tag
from tests.e2e.clients.clients import CLIENTS, DONE, TOLD, WORKSPACE, Client
from tests.extensions.behaviour.corpora.agents import TEST_OF_FREE, WRONG_TEST, here
from tests.extensions.behaviour.corpora.store_task import (
    BUGGY_LINE,
    FIXED_LINE,
    PARTIAL_LINE,
    WRONG_LINE,
)
from tests.fakes.scripted_answers import Answer, Call


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRow:
    """A client, what its model says, and all the tags that hold for its attempt."""

    name: str
    client: Client
    answers: tuple[Answer, ...]
    tags: frozenset[Tag]
    in_gate: bool = False


def _claude_file(tool: str, path: str, **more: str) -> Answer:
    return Call(tool, {"file_path": f"{WORKSPACE}/{path}", **more}, tokens=TOLD)


def _claude_edit(old: str, new: str) -> Answer:
    return _claude_file("Edit", "stock.py", old_string=old, new_string=new)


def _claude_test(text: str) -> Answer:
    return _claude_file("Write", "tests/test_free.py", content=text)


def _bash(command: str) -> Answer:
    return Call("Bash", {"command": command, "description": "look"}, tokens=TOLD)


def _exec(command: str) -> Answer:
    return Call("exec_command", {"cmd": command, "yield_time_ms": 30_000}, tokens=TOLD)


def _exec_edit(old: str, new: str) -> Answer:
    pattern = old.replace("[", r"\[")
    return _exec(f"sed -i 's/{pattern}/{new}/' stock.py")


def _exec_test(text: str) -> Answer:
    return _exec(here("tests/test_free.py", text))


def _row(client: str, about: str, tags: str, *answers: Answer, in_gate: bool = False) -> ClientRow:
    return ClientRow(
        name=f"{client}: {about}",
        client=CLIENTS[client],
        answers=(*answers, DONE),
        tags=frozenset(map(Tag, tags.split())),
        in_gate=in_gate,
    )


_READ = _claude_file("Read", "stock.py")
_FIX = _claude_edit(BUGGY_LINE, FIXED_LINE)
_PYTEST = "python -m pytest -q"
_SEEN = _exec("cat stock.py")
_FIXED = _exec_edit(BUGGY_LINE, FIXED_LINE)
# fmt: off
CLIENT_ROWS = (
    _row("claude-code", "wrong change", "right-place-wrong-change own-test-missing",
         _READ, _claude_edit(BUGGY_LINE, WRONG_LINE), _bash(_PYTEST)),
    _row("claude-code", "no test run", "never-ran-tests",
         _READ, _claude_test(TEST_OF_FREE), _FIX, _bash("ls tests")),
    _row("claude-code", "edited after the last test", "edited-after-last-test",
         _READ, _claude_test(TEST_OF_FREE), _claude_edit(BUGGY_LINE, PARTIAL_LINE),
         _bash(_PYTEST), _claude_edit(PARTIAL_LINE, FIXED_LINE)),
    _row("claude-code", "same call four times", "loop",
         _READ, _claude_test(TEST_OF_FREE), *[_bash("cat README.md")] * 4, _FIX, _bash(_PYTEST)),
    _row("claude-code", "resolved with a test (near miss)", "",
         _READ, _claude_test(TEST_OF_FREE), _FIX, _bash(_PYTEST)),
    _row("claude-code", "same call three times (near miss)", "",
         _READ, _claude_test(TEST_OF_FREE), *[_bash("cat README.md")] * 3, _FIX, _bash(_PYTEST)),
    _row("codex", "wrong change", "right-place-wrong-change own-test-missing",
         _SEEN, _exec_edit(BUGGY_LINE, WRONG_LINE), _exec(_PYTEST)),
    _row("codex", "only a test", "only-tests-changed opened-not-edited never-ran-tests",
         _SEEN, _exec_test(TEST_OF_FREE), in_gate=True),
    _row("codex", "submitted while its test fails", "submitted-while-failing",
         _SEEN, _exec_test(WRONG_TEST), _FIXED, _exec(_PYTEST)),
    _row("codex", "made, taken back and made again", "undo-redo",
         _SEEN, _exec_test(TEST_OF_FREE), _FIXED, _exec("git stash -- stock.py"),
         _exec("git stash pop"), _exec(_PYTEST)),
    _row("codex", "resolved with a test (near miss)", "",
         _SEEN, _exec_test(TEST_OF_FREE), _FIXED, _exec(_PYTEST)),
    _row("codex", "document after the last test (near miss)", "",
         _SEEN, _exec_test(TEST_OF_FREE), _FIXED, _exec(_PYTEST),
         _exec("echo 'Reserved pieces are not free.' >> README.md")),
)
# fmt: on
