from datetime import timedelta

import pytest

from agentbench.agents.interface import Budget
from agentbench.attempt.agent_work.agent_sandbox import BoundedSandbox
from agentbench.sandbox.archives import tar_of_file
from agentbench.sandbox.interface import Command, Limits, Stream
from agentbench.scoring.evidence import Ending

LIMITS = Limits(memory_mib=256, disk_mib=256)


@pytest.fixture
def inner(provider):
    with provider.open(provider.resolve_image(None), limits=LIMITS, network=False) as opened:
        yield opened


def wrapped(inner, desk, seconds: float = 60) -> BoundedSandbox:
    budget = Budget(timeout=timedelta(seconds=seconds), max_steps=1, max_cost_usd=1)
    return BoundedSandbox(inner, budget, desk.sink, {"TZ": "UTC", "A": "task"})


def command(script: str, seconds: float = 60, **more) -> Command:
    return Command(argv=("sh", "-c", script), timeout=timedelta(seconds=seconds), **more)


def test_command_ends_with_the_budget(inner, desk):
    result = wrapped(inner, desk, 0.3).run(command("sleep 1000"))
    assert result.ending is Ending.TIMED_OUT
    assert result.timeout is not None
    assert result.timeout <= timedelta(seconds=0.3)


def test_shorter_timeout_of_a_command_counts(inner, desk):
    result = wrapped(inner, desk).run(command("sleep 1000", 0.3))
    assert (result.ending, result.timeout) == (Ending.TIMED_OUT, timedelta(seconds=0.3))


def test_spent_budget_ends_a_command_at_once(inner, desk):
    assert wrapped(inner, desk, 0).run(command("sleep 1000")).ending is Ending.TIMED_OUT


@pytest.mark.parametrize("line", ["echo a; sleep 1000", ["sh", "-c", "echo a; sleep 1000"]])
def test_line_and_list_are_commands_with_a_timeout_in_seconds(inner, desk, line):
    result = wrapped(inner, desk).run(line, timeout=0.5)
    assert (result.stdout, result.ending) == ("a\n", Ending.TIMED_OUT)


def test_command_without_a_timeout_has_the_rest_of_the_budget(inner, desk):
    assert wrapped(inner, desk, 0.3).run(["sleep", "1000"]).ending is Ending.TIMED_OUT


def test_seconds_of_a_command_count(inner, desk):
    assert wrapped(inner, desk).run(Command(argv=("pwd",), timeout=5)).ok


def test_output_goes_to_log_and_sink(inner, desk):
    chunks: list[tuple[Stream, bytes]] = []
    result = wrapped(inner, desk).run(
        command("echo out", sink=lambda stream, chunk: chunks.append((stream, chunk)))
    )
    assert result.stdout == "out\n"
    assert desk.printed == b"out\n"
    assert chunks == [(Stream.STDOUT, b"out\n")]


def test_other_calls_reach_the_inner_sandbox(inner, desk):
    box = wrapped(inner, desk)
    assert (box.workspace, box.results) == (inner.workspace, inner.results)
    box.write_tree(box.workspace, tar_of_file("a", b"x"))
    with box.read_tree(box.workspace) as chunks:
        assert b"a" in b"".join(chunks)
    with pytest.raises(KeyError):
        box.mounted("nothing")
    snapshot = box.snapshot("test-agent-sandbox")
    box.kill()
    with pytest.raises(Exception, match="killed"):
        box.run(command("true"))
    assert snapshot


def test_command_has_the_task_environment(inner, desk):
    result = wrapped(inner, desk).run(command('echo "$TZ $A"', env={"A": "own"}))
    assert result.stdout == "UTC own\n"
