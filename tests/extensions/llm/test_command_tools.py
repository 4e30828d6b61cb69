from pathlib import Path

import pytest

from agentbench.scoring.evidence import Ending
from agentbench.test_tools.agent_texts import MAX_OUTPUT_LENGTH
from tests.extensions.llm.conftest import Ended, called
from tests.patience import with_growing_limit
from tests.sandbox.conformance_base import sh


@pytest.mark.parametrize(
    ("command", "said"),
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
def test_a_command_is_run_by_a_shell_and_told_with_its_exit_code(sandbox, command, said):
    reply = called(sandbox, "run", command=command)
    assert (reply.failed, reply.text) == (False, said)


def test_a_command_that_goes_on_is_killed_with_all_it_started(walled):
    def called_for(seconds):
        line = "echo begun; sleep 600 & sleep 600"
        return seconds, called(walled, "run", command=line, timeout_s=seconds)

    seconds, reply = with_growing_limit(
        called_for, lambda ended: "begun" in ended[1].text, limits=(1, 10, 60)
    )
    assert reply.text == f"[killed at its deadline, after {seconds} s]\nbegun"
    assert not reply.failed
    assert sh(walled, "pgrep sleep || true").stdout == ""


def test_long_output_keeps_its_head_and_its_tail(walled):
    reply = called(walled, "run", command="seq 1 100000")
    assert len(reply.text) < MAX_OUTPUT_LENGTH + 200
    assert reply.text.startswith("[exit code 0]\n1\n2\n")
    assert reply.text.endswith("\n99999\n100000")
    assert "characters left out" in reply.text


def test_a_pager_does_not_wait_for_anybody(sandbox):
    Path(sandbox.workspace, "f").write_text("x\n")
    said = called(sandbox, "run", command="git init -q; git add f; git diff --cached --stat; env")
    assert "1 file changed" in said.text
    assert "TERM=dumb" in said.text


@pytest.mark.parametrize(
    ("given", "told"),
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
def test_a_command_that_cannot_be_given_is_refused(sandbox, given, told):
    reply = called(sandbox, "run", **given)
    assert reply.failed
    assert reply.text.startswith(f"invalid arguments: {told}")


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (Ending.OUT_OF_MEMORY, "killed: out of memory"),
        (Ending.OUT_OF_DISK, "killed: out of disk (limit 64 MiB); remove something"),
        (Ending.LOST, "lost"),
    ],
)
def test_an_end_without_a_number_is_told_in_words(ending, said):
    assert called(Ended(ending), "run", command="x").text == f"[{said}, no output]"
