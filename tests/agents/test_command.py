from datetime import timedelta

import pytest

from agentbench.agents.command import CommandAgent, missing_programs, programs_of
from agentbench.agents.interface import Budget
from agentbench.scoring.evidence import AgentEnding, Ending
from tests.fakes.ended_sandbox import EndedSandbox
from tests.patience import with_growing_limit


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("my-agent", ("my-agent",)),
        ("  ./tools/agent.sh --task {instruction}  ", ("./tools/agent.sh",)),
        ("TERM=dumb HOME=/tmp my-agent 'a; b | c && d'", ("my-agent",)),
        ("my-agent < in 2> err >> out", ("my-agent",)),
        ("2> err my-agent", ("my-agent",)),
        ("cat task.md | my-agent | tee log", ("cat", "my-agent", "tee")),
        ("'my agent' x", ("my agent",)),
        # The shell has more to decide:
        ("cd tools && ./agent", ()),
        ("my-agent || true", ()),
        ("set -e; my-agent", ()),
        ("my-agent &", ()),
        ("(my-agent)", ()),
        ("{ my-agent; }", ()),
        ("export PATH=/opt:$PATH\nmy-agent", ()),
        ("PATH=/opt my-agent", ()),
        ("$AGENT --fix", ()),
        ("`which my-agent`", ()),
        ("~/bin/my-agent", ()),
        ("my-*", ()),
        ("cat <<'END'\nx\nEND", ()),
        ("my-agent 'open", ()),
        ("X=1", ()),
        ("", ()),
        ("| my-agent", ()),
    ],
)
def test_programs_are_known_where_the_words_alone_tell(line, programs):
    assert programs_of(line) == programs


def test_a_shell_in_the_sandbox_says_which_are_missing(sandbox, workspace):
    own = workspace / "own-agent"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    programs = ("sh", "cd", "./own-agent", "./gone", "no-such-agent", "two words")
    missing = ("./gone", "no-such-agent", "two words")
    assert missing_programs(sandbox, programs, {}) == missing


ODD = [
    "plain",
    "",
    'it\'s "quoted" `twice` $(touch pwned) ${HOME} \\n',
    "two\nlines\n",
    "'; touch pwned; '",
    "-n --help",
    "{instruction} %s {0}",
    "ünï cödé 🐍 \u202e",
    "tab\tand\r\nreturn",
    "a\\",
    "!history *glob? ~user #comment",
]


def solve(command, problem, sandbox, budget):
    return CommandAgent(command).solve(problem, sandbox, budget, None)


def with_instruction(problem, text):
    return problem.replace(instruction=text)


@pytest.mark.parametrize("instruction", ODD)
@pytest.mark.parametrize(
    "command",
    [
        "cat > told",
        'cat "$AGENTBENCH_INSTRUCTION" > told',
        "printf %s {instruction} > told",
        "python -c \"import sys; open('told', 'wb').write(sys.argv[1].encode())\" {instruction}",
    ],
)
def test_an_instruction_arrives_as_it_is(command, instruction, problem, sandbox, workspace, budget):
    outcome = solve(command, with_instruction(problem, instruction), sandbox, budget)
    assert outcome.ending is AgentEnding.SUBMITTED, outcome.detail
    assert (workspace / "told").read_bytes() == instruction.encode()
    assert not (workspace / "pwned").exists()


def test_an_option_may_bear_the_instruction(problem, sandbox, workspace, budget):
    asked = with_instruction(problem, "don't $panic")
    solve("printf %s --task={instruction}{instruction} > told", asked, sandbox, budget)
    assert (workspace / "told").read_text() == "--task=don't $panicdon't $panic"


def test_an_instruction_on_stdin_may_be_longer_than_a_command_line(
    problem, sandbox, workspace, budget
):
    asked = with_instruction(problem, "x" * 3_000_000)
    assert solve("cat > told", asked, sandbox, budget).ending is AgentEnding.SUBMITTED
    assert (workspace / "told").stat().st_size == 3_000_000


def test_a_command_that_reads_nothing_is_not_disturbed(problem, sandbox, budget):
    asked = with_instruction(problem, "x" * 3_000_000)
    assert solve("exec 0<&-; true", asked, sandbox, budget).ending is AgentEnding.SUBMITTED


def test_it_runs_in_the_workspace_by_a_shell(problem, sandbox, workspace, budget):
    outcome = solve("pwd > told && sed -i s/1/2/ code.py", problem, sandbox, budget)
    assert (outcome.ending, outcome.steps) == (AgentEnding.SUBMITTED, 1)
    assert (workspace / "told").read_text().strip() == str(workspace)
    assert (workspace / "code.py").read_text() == "x = 2\n"


@pytest.mark.parametrize(
    ("command", "detail"),
    [
        ("exit 1", "agent exited 1"),
        ("echo out; exit 3", "agent exited 3: out"),
        ("echo out; echo err >&2; exit 3", "agent exited 3: err"),
        ("seq 9 >&2; exit 255", "agent exited 255: 5 | 6 | 7 | 8 | 9"),
        ("kill -9 $$", "agent was killed by signal 9"),
        ("echo '  spaced  '; echo; exit 1", "agent exited 1: spaced"),
    ],
)
def test_a_command_that_fails_is_a_tool_error_with_its_last_lines(
    command, detail, problem, sandbox, budget
):
    outcome = solve(command, problem, sandbox, budget)
    assert (outcome.ending, outcome.detail) == (AgentEnding.TOOL_ERROR, detail)
    assert outcome.command.argv[:2] == ("sh", "-c")


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(("command", "code"), [("exit 127", 127), ("./code.py", 126), ("if", 2)])
def test_a_command_that_cannot_run_exits_as_a_shell_does(command, code, problem, sandbox, budget):
    outcome = solve(command, problem, sandbox, budget)
    assert outcome.ending is AgentEnding.TOOL_ERROR
    assert outcome.detail.startswith(f"agent exited {code}")


@pytest.mark.parametrize("command", ["my-agent {instruction}", "cat > /dev/null; my-agent"])
def test_a_program_that_is_missing_is_named(command, problem, sandbox, budget):
    outcome = solve(command, problem, sandbox, budget)
    assert outcome.ending is AgentEnding.TOOL_ERROR
    assert outcome.detail == "Agent command not found: my-agent"


def test_a_command_that_goes_on_ends_with_the_budget(problem, sandbox, workspace):
    def solve_within(seconds):
        short = Budget(timeout=timedelta(seconds=seconds), max_steps=1, max_cost_usd=0)
        return seconds, solve("touch begun; exec tail -f /dev/null", problem, sandbox, short)

    seconds, outcome = with_growing_limit(
        solve_within, lambda _: (workspace / "begun").exists(), limits=(0.3, 5, 60)
    )
    assert outcome.ending is AgentEnding.TIME_LIMIT
    assert outcome.detail == f"the agent was still running after {seconds:.0f} s"
    assert outcome.command.ending is Ending.TIMED_OUT


def test_a_command_that_began_late_is_said_to_have_had_all_of_the_budget(problem):
    late = Budget(
        timeout=timedelta(seconds=3), max_steps=1, max_cost_usd=0, clock=lambda: 2.5, started=0
    )
    sandbox = EndedSandbox(Ending.TIMED_OUT)
    outcome = solve("true", problem, sandbox, late)
    assert sandbox.commands[0].timeout == timedelta(seconds=0.5)
    assert outcome.detail == "the agent was still running after 3 s"


@pytest.mark.parametrize(
    ("ending", "detail"),
    [
        (Ending.OUT_OF_MEMORY, "agent ran out of memory: last"),
        (Ending.OUT_OF_DISK, "agent exceeded its disk limit (64 MiB): last"),
        (Ending.LOST, "agent was lost with its sandbox: last"),
    ],
)
def test_an_end_without_a_number_is_told_in_words(ending, detail, problem, budget):
    outcome = solve("true", problem, EndedSandbox(ending, stdout="last\n"), budget)
    assert (outcome.ending, outcome.detail) == (AgentEnding.TOOL_ERROR, detail)
