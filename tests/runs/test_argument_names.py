import pytest

from agentbench.errors import InputError, UsageError
from agentbench.runs.argument_names import naming_arguments, with_arguments


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ("--attempts: 0 is not above 0", "attempts: 0 is not above 0"),
        ("--agent a.b:c: cannot import 'a.b'", "agent='a.b:c': cannot import 'a.b'"),
        (
            "--agent command needs --agent-command '…'",
            "agent='command' needs agent_command='…'",
        ),
        (
            "--agent-command goes with --agent command, found --agent llm",
            "agent_command goes with agent='command', found agent='llm'",
        ),
        ("--agent is missing: choose", "agent is missing: choose"),
        ("check --model and --base-url", "check model and base_url"),
        ("a server that supports it (--base-url)", "a server that supports it (base_url)"),
        ("allow it with --allow-unsandboxed", "allow it with allow_unsandboxed=True"),
        ("or skip this check with --no-probe", "or skip this check with probe=False"),
        ("prepare it anew with --no-cache", "prepare it anew with use_cache=False"),
        ("--max-cost is spent", "max_cost_usd is spent"),
        ("use --sandbox docker.", "use sandbox='docker'."),
        ("choose another --run-id, or `agentbench resume` it",
         "choose another run_id, or `agentbench resume` it"),
    ],
)  # fmt: skip
def test_flags_of_a_run_become_arguments(flags, arguments):
    assert with_arguments(flags) == arguments


@pytest.mark.parametrize(
    "text", ["`ray start --head`", "git --version", "a--agent", "--write-ids", "tasks/x: is --"]
)
def test_other_texts_stay(text):
    assert with_arguments(text) == text


def test_errors_of_a_block_are_the_same_with_other_words():
    with pytest.raises(UsageError, match=r"^retries: -1 is below 0$"), naming_arguments():
        raise UsageError("--retries: -1 is below 0")
    with pytest.raises(InputError) as raised, naming_arguments():
        raise InputError("--agent x: one", "two")
    assert raised.value.faults == ("agent='x': one", "two")
    assert str(raised.value) == "agent='x': one\ntwo"
    with pytest.raises(ValueError, match="--agent"), naming_arguments():
        raise ValueError("--agent x")
