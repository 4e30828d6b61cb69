"""The agents that validate tasks: noop changes nothing, oracle applies the solution."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.models.interface import ModelEndpoint
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.problem import Problem, TaskId
from agentbench.tasks.scripts import ScriptedSolution, script_files


class NoopAgent:
    """Submits the unchanged workspace."""

    name = "noop"
    writes_files_only = True

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Do nothing."""
        del problem, sandbox, budget, model
        return AgentOutcome(ending=AgentEnding.SUBMITTED, detail="changed nothing")


@dataclass(frozen=True, slots=True)
class OracleAgent:
    """Applies each task's reference patch or script, which its creator passes in."""

    name: ClassVar[str] = "oracle"

    patches: Mapping[TaskId, bytes]
    scripts: Mapping[TaskId, ScriptedSolution] = field(default_factory=dict)

    @property
    def writes_files_only(self) -> bool:
        """Patches write files; a script may do anything."""
        return not self.scripts

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Apply the patch with git in the sandbox, or run the script.

        Raises:
            InputError: a file of the script cannot be read.
        """
        del model
        script = self.scripts.get(problem.id)
        if script is not None:
            folder = script.step_folders.get(problem.step or "", script.folder)
            return _run_script(script, folder, sandbox, budget)
        patch = self.patches.get(problem.id, b"")
        if not patch.strip():
            missing = "the task has no solution.patch"
            return AgentOutcome(ending=AgentEnding.TOOL_ERROR, detail=missing)
        argv = ("git", "apply", "--whitespace=nowarn", "-")
        result = sandbox.run(Command(argv=argv, stdin=patch, timeout=budget.remaining()))
        if not result.ok:
            message = result.stderr.strip() or f"git apply ended in {result.ending.value}"
            detail = f"solution.patch does not apply: {message}"
            return AgentOutcome(ending=AgentEnding.TOOL_ERROR, detail=detail, command=result)
        return AgentOutcome(ending=AgentEnding.SUBMITTED, steps=1, tool_calls=1)


def _run_script(
    script: ScriptedSolution, folder: Path, sandbox: Sandbox, budget: Budget
) -> AgentOutcome:
    """Run the script; its exit code is ignored, since only the verifier decides."""
    sandbox.write_tree(script.mount_point, tar_of_files(script_files(folder)))
    result = sandbox.run(
        Command(argv=("sh", "-c", script.command), env=script.env, timeout=budget.remaining())
    )
    message = "" if result.ok else f"the script ended in {result.ending.value} {result.exit_code}"
    return AgentOutcome(
        ending=AgentEnding.SUBMITTED, detail=message, command=result, steps=1, tool_calls=1
    )
