"""The agent that runs a shell command in the sandbox, and the programs that it needs."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from agentbench.agents.agent_files import AGENT_FILES_MOUNT, AgentFiles
from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.agents.mcp_configuration import with_servers
from agentbench.models.interface import ModelEndpoint
from agentbench.sandbox.archives import tar_of_file
from agentbench.sandbox.interface import (
    Command,
    ImageId,
    ReadOnlyMount,
    Sandbox,
    SandboxProvider,
)
from agentbench.scoring.evidence import AgentEnding, CommandResult, Ending
from agentbench.tasks.problem import Problem

_FIND_TIMEOUT = timedelta(seconds=60)
_PUNCTUATION = "|&;()<>\n"
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")
_EXPANDED = re.compile(r"[$`*?\[\]{}~!\\]")
_REDIRECTION = re.compile(r"(?!<<)[<>&]*[<>][<>&]*")  # without here-documents
# A shell's built-in commands are found, too, and scripts, which need not be executable.
_FIND_MISSING = (
    'for name do command -v "$name" > /dev/null 2>&1 || [ -f "$name" ] '
    '|| printf "%s\\n" "$name"; done'
)
_LAST_LINES = 5
_NOT_FOUND = 127  # a shell's exit code
_MISSING = re.compile(r"(?:.*: )?(?P<name>[^:]+): (?:command )?not found")  # the message of shells


def programs_of(line: str) -> tuple[str, ...]:
    """The programs of a command or a pipeline, each once; none for other shell syntax.

    >>> programs_of("TERM=dumb my-agent --task {instruction} 2>&1 | tee log")
    ('my-agent', 'tee')
    >>> programs_of("cd tools && ./my-agent")
    ()
    """
    try:
        found = list(map(_program, _pipeline_commands(line.replace("{instruction}", "x").strip())))
    except ValueError:  # not a pipeline, or an open quote
        return ()
    return tuple(dict.fromkeys(found))


def missing_programs(
    sandbox: Sandbox, programs: Sequence[str], env: Mapping[str, str]
) -> tuple[str, ...]:
    """The programs that a shell in the sandbox's workspace does not find.

    Raises:
        SandboxError: the sandbox is lost.
    """
    argv = ("sh", "-c", _FIND_MISSING, "sh", *programs)
    missing = sandbox.run(Command(argv=argv, timeout=_FIND_TIMEOUT, env=env)).stdout.splitlines()
    return tuple(name for name in programs if name in missing)


def _pipeline_commands(line: str) -> Iterator[list[str]]:
    """The words of each command of a pipeline, without redirections."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace, lexer.whitespace_split = " \t", True
    words: list[str] = []
    tokens = iter(lexer)
    for token in tokens:
        if token == "|":
            yield words
            words = []
        elif _REDIRECTION.fullmatch(token):
            if words and words[-1].isdigit():
                words.pop()  # the descriptor of the redirection
            next(tokens, None)
        elif token and set(token) <= set(_PUNCTUATION):
            raise ValueError("not a pipeline")
        else:
            words.append(token)
    yield words


def _program(words: list[str]) -> str:
    for word in words:
        assigned = _ASSIGNMENT.match(word)
        if assigned is None:
            if not word or _EXPANDED.search(word) or "\n" in word:
                raise ValueError("a name that the shell expands")
            return word
        if assigned[1] == "PATH":
            raise ValueError("looked for elsewhere")
    raise ValueError("no program")


class CommandAgent:
    """Runs a shell command in the workspace.

    The instruction is on its stdin, in the file that `$AGENTBENCH_INSTRUCTION` names, and replaces
    `{instruction}` in the command, quoted for the shell. `$AGENTBENCH_MCP_CONFIG` names a file with
    the task's MCP servers, as Claude Code reads it, and `$AGENTBENCH_SKILLS` the folder of its
    skills; a task without them leaves these unset. With a model, the variables that clients read
    (`OPENAI_BASE_URL`, `ANTHROPIC_API_KEY`, …) lead to its endpoint.

    Files of this machine are mounted read-only, and on PATH; their paths in the command are
    replaced by those in the sandbox, and `$AGENTBENCH_FILES` names their folder.
    """

    name = "command"

    def __init__(self, command: str, files: Sequence[Path] = ()) -> None:
        """Copy the files.

        Raises:
            UsageError: a file does not exist or cannot be copied.
        """
        self._command = command
        self._files = AgentFiles(files) if files else None

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs in the command, as far as they can be parsed, except its own files."""
        programs, files = programs_of(self._command), self._files
        return tuple(each for each in programs if files is None or not files.provides(each))

    def mounts(self, _provider: SandboxProvider, _image: ImageId) -> tuple[ReadOnlyMount, ...]:
        """Its files."""
        return () if self._files is None else (self._files.mount,)

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Run the command until it ends or the budget is spent."""
        instruction = problem.instruction.encode()
        sandbox.write_tree(sandbox.results, tar_of_file("instruction.md", instruction))
        line = self._command
        env = _additions(problem, sandbox)
        if self._files is not None:
            mounted = sandbox.mounted(AGENT_FILES_MOUNT)
            env["AGENTBENCH_FILES"] = str(mounted)
            # The sandbox's own PATH is known only inside.
            path = shlex.quote(self._files.search_path(mounted))
            line = f"PATH={path}:$PATH; {self._files.with_paths(line, mounted)}"
        shown, argv = (
            ("sh", "-c", each.replace("{instruction}", shlex.quote(problem.instruction)))
            for each in (self._command, line)
        )
        command = Command(
            argv=argv,
            timeout=budget.remaining(),
            env={"AGENTBENCH_INSTRUCTION": f"{sandbox.results}/instruction.md", **env},
            stdin=instruction,
        )
        result = run_with_model(command, sandbox, model)
        return outcome_of(result.replace(argv=shown), budget)


def _additions(problem: Problem, sandbox: Sandbox) -> dict[str, str]:
    """Variables that name the task's MCP servers and skills, if it has some."""
    added = {} if problem.skills is None else {"AGENTBENCH_SKILLS": problem.skills}
    if problem.mcp_servers:
        settings = with_servers("", "claude", problem.mcp_servers).encode()
        sandbox.write_tree(sandbox.results, tar_of_file("mcp.json", settings))
        added["AGENTBENCH_MCP_CONFIG"] = f"{sandbox.results}/mcp.json"
    return added


def not_found_message(programs: Sequence[str]) -> str:
    """The message about programs that are missing in an agent's sandbox."""
    return f"Agent command not found: {', '.join(programs)}"


def run_with_model(
    command: Command, sandbox: Sandbox, model: ModelEndpoint | None
) -> CommandResult:
    """Run a command, with a relay if there is a model; the result names only the command."""
    if model is None:
        return sandbox.run(command)
    from agentbench.models.gateway.relay import relayed_command  # imports asyncio

    result = sandbox.run(relayed_command(command, sandbox, model))
    return result.replace(argv=command.argv)


def outcome_of(result: CommandResult, budget: Budget) -> AgentOutcome:
    """The outcome of an agent that is one command; its time limit is the whole budget."""
    if result.ok:
        return AgentOutcome(ending=AgentEnding.SUBMITTED, command=result, steps=1)
    if result.ending is Ending.TIMED_OUT:
        detail = f"the agent was still running after {budget.timeout.total_seconds():.0f} s"
        return AgentOutcome(ending=AgentEnding.TIME_LIMIT, detail=detail, command=result, steps=1)
    last = (result.stderr.strip().splitlines() or [""])[-1]
    found = _MISSING.fullmatch(last) if result.exit_code == _NOT_FOUND else None
    if found:
        detail = not_found_message((found["name"],))
    else:
        lines = (result.stderr.strip() or result.stdout.strip()).splitlines()[-_LAST_LINES:]
        output = f": {' | '.join(line.strip() for line in lines)}" if lines else ""
        detail = f"agent {_ending_text(result)}{output}"
    return AgentOutcome(ending=AgentEnding.TOOL_ERROR, detail=detail, command=result, steps=1)


def _ending_text(result: CommandResult) -> str:
    match result.ending:
        case Ending.OUT_OF_MEMORY:
            return "ran out of memory"
        case Ending.OUT_OF_DISK:
            return f"exceeded its disk limit ({result.exceeded})"
        case Ending.LOST:
            return "was lost with its sandbox"
        case Ending.EXITED | Ending.KILLED | Ending.TIMED_OUT:
            if result.signal is not None:
                return f"was killed by signal {result.signal}"
            return f"exited {result.exit_code}"
