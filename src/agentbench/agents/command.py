"""The agent that is a command line, run in the sandbox."""

import re
import shlex
from collections.abc import Sequence

from agentbench.agents.command_programs import programs_of
from agentbench.agents.gateway.behind_relay import behind_relay
from agentbench.agents.interface import AgentOutcome, Budget, ModelDoor
from agentbench.sandbox.archive import tar_of_file
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import AgentEnding, CommandResult, Ending
from agentbench.tasks.problem import Problem

_LAST_LINES = 5
_NOT_FOUND = 127  # as a shell exits
_MISSING = re.compile(r"(?:.*: )?(?P<name>[^:]+): (?:command )?not found")  # as shells say it


class CommandAgent:
    """Runs a shell command in the workspace.

    The instruction is on its stdin, in the file that `$AGENTBENCH_INSTRUCTION` names, and in
    place of `{instruction}` in the command, quoted for the shell. With a model, the variables that
    clients look at (`OPENAI_BASE_URL`, `ANTHROPIC_API_KEY`, …) lead to the door.
    """

    name = "command"

    def __init__(self, command: str) -> None:
        self._command = command

    @property
    def programs(self) -> tuple[str, ...]:
        """Those that the command starts, as far as its words tell."""
        return programs_of(self._command)

    def solve(
        self,
        problem: Problem,
        sandbox: Sandbox,
        budget: Budget,
        model: ModelDoor | None,
    ) -> AgentOutcome:
        """Run the command to its end or to the end of the budget."""
        instruction = problem.instruction.encode()
        sandbox.write_tree(sandbox.results, tar_of_file("instruction.md", instruction))
        line = self._command.replace("{instruction}", shlex.quote(problem.instruction))
        command = Command(
            argv=("sh", "-c", line),
            timeout=budget.remaining(),
            env={"AGENTBENCH_INSTRUCTION": f"{sandbox.results}/instruction.md"},
            stdin=instruction,
        )
        return outcome_of(run_with_model(command, sandbox, model), budget)


def not_found(programs: Sequence[str]) -> str:
    """What is said about programs that are missing where an agent is to work."""
    return f"Agent command not found: {', '.join(programs)}"


def run_with_model(command: Command, sandbox: Sandbox, model: ModelDoor | None) -> CommandResult:
    """Run a command, behind the relay if there is a model; the result names the command alone."""
    if model is None:
        return sandbox.run(command)
    result = sandbox.run(behind_relay(command, sandbox, model))
    return result.model_copy(update={"argv": command.argv})


def outcome_of(result: CommandResult, budget: Budget) -> AgentOutcome:
    """How an agent that is one command stopped; its time is what the budget gave it in all."""
    if result.ok:
        return AgentOutcome(ending=AgentEnding.SUBMITTED, command=result, steps=1)
    if result.ending is Ending.TIMED_OUT:
        detail = f"the agent was still running after {budget.timeout.total_seconds():.0f} s"
        return AgentOutcome(ending=AgentEnding.TIME_LIMIT, detail=detail, command=result, steps=1)
    missing = _missing(result)
    detail = not_found((missing,)) if missing else f"agent {_how(result)}{_last_lines(result)}"
    return AgentOutcome(ending=AgentEnding.TOOL_ERROR, detail=detail, command=result, steps=1)


def _missing(result: CommandResult) -> str | None:
    last = (result.stderr.strip().splitlines() or [""])[-1]
    found = _MISSING.fullmatch(last) if result.exit_code == _NOT_FOUND else None
    return found["name"] if found else None


def _how(result: CommandResult) -> str:
    match result.ending:
        case Ending.OUT_OF_MEMORY:
            return "ran out of memory"
        case Ending.OUT_OF_DISK:
            return f"ran out of disk, of which it has {result.exceeded}"
        case Ending.LOST:
            return "was lost with its sandbox"
        case Ending.EXITED | Ending.KILLED | Ending.TIMED_OUT:
            if result.signal is not None:
                return f"was killed by signal {result.signal}"
            return f"exited {result.exit_code}"


def _last_lines(result: CommandResult) -> str:
    lines = (result.stderr.strip() or result.stdout.strip()).splitlines()[-_LAST_LINES:]
    return f": {' | '.join(line.strip() for line in lines)}" if lines else ""
