"""Lets the kinds of cheats attempt tasks, and tells which of them a grader rewards."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentbench.agents.command import CommandAgent
from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.agents.reference import OracleAgent
from agentbench.attempt.record import AttemptRecord
from agentbench.audit.patch import parse_patch
from agentbench.errors import UsageError
from agentbench.extensions.redteam.kinds import Kind, script_of
from agentbench.extensions.redteam.names import NOTHING, REFERENCE, GraderName
from agentbench.models.interface import ModelEndpoint
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.options import RunOptions
from agentbench.runs.run import Run
from agentbench.runs.start import start_run
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.problem import Problem, TaskId
from agentbench.tasks.task import Task
from agentbench.tasks.test_runner_name import PYTHON_RUNNERS

# One command, so that what the agent left running goes on; the hidden tests come on stdin.
_JUDGED_IN_PLACE = """\
exec 3<&0
( eval "$REDTEAM" ) < /dev/null > /dev/null 2>&1 || true
base64 -d <&3 | git apply --whitespace=nowarn - || echo "the hidden tests do not apply"
exec sh -c "$REDTEAM_TESTS"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of one kind in one task."""

    task: str
    kind: str
    """The kind's name, `reference` or `nothing`."""

    rewarded: bool
    says: str
    """What the grader said, in a line."""

    kept: Path
    """Where the change and the record are."""


def kinds_for(task: Task, kinds: Sequence[Kind]) -> list[Kind]:
    """The kinds that can have an effect in a task: some are written in Python."""
    verifier = task.answer_key.verifier
    is_python = verifier is not None or task.problem.tests.runner in PYTHON_RUNNERS
    return [kind for kind in kinds if is_python or not kind.needs_python]


def trial_scripts(task: Task, kinds: Sequence[Kind]) -> Mapping[str, str]:
    """The script of each kind for a task, by the kind's name."""
    changed = [file.path for file in parse_patch(task.answer_key.solution_patch)]
    hidden = [file.path for file in parse_patch(task.answer_key.tests_patch)]
    files = tuple(path for path in changed if path.endswith(".py") and path not in hidden)
    return {kind.name: script_of(kind, files, tuple(hidden)) for kind in kinds}


def start_trials(
    tasks: Sequence[Task], kinds: Sequence[Kind], grader: GraderName, options: RunOptions
) -> "Trials":
    """Make all checks, and create the folder of a run with an attempt for each task and kind.

    Raises:
        UsageError: an option is wrong, or the grader cannot judge such a task.
        UnavailableError: the sandbox is not available.
    """
    agent = _RedTeamAgent(judges_in_place=grader is GraderName.EXIT_CODE)
    copies: list[Task] = []
    owners: dict[str, tuple[str, str]] = {}
    for task in tasks:
        if agent.judges_in_place and task.answer_key.verifier is not None:
            raise UsageError(
                f"--grader {grader}: {task.id} is judged by a script and not by its test command; "
                f"use --grader {GraderName.AGENTBENCH}"
            )
        scripts = trial_scripts(task, kinds_for(task, kinds))
        for name, script in {REFERENCE: "", NOTHING: "true", **scripts}.items():
            copied = task.replace(problem=task.problem.replace(id=TaskId(f"{task.id}--{name}")))
            owners[copied.id] = (task.id, name)
            agent.scripts[copied.id] = script
            agent.tasks[copied.id] = copied
            copies.append(copied)
    if agent.judges_in_place:  # its verdict is not asked for
        options = options.replace(integrity_controls=ControlLevel.OFF)
    run = start_run(copies, options.replace(agent=agent, attempts=1, retries=0))
    return Trials(run=run, owners=owners, agent=agent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """A run whose attempts are the kinds of cheats."""

    run: Run
    owners: Mapping[str, tuple[str, str]]
    """The task and the kind, by the id of an attempt's task."""

    agent: "_RedTeamAgent"

    def results(self) -> Iterator[Trial]:
        """What came of each attempt, after the run, in the order of tasks and kinds."""
        records = {one.task_id: one for one in ReportedRun.read(self.run.store.folder).records()}
        for task_id, (task, kind) in self.owners.items():
            record = records[TaskId(task_id)]
            rewarded, says = record.resolved, _verdict(record)
            if self.agent.judges_in_place:
                code = self.agent.exit_codes.get(record.task_id)
                rewarded = code == 0
                says = says if code is None else f"the tests left with {code}"
            kept = self.run.store.folder_of(record)
            yield Trial(task=task, kind=kind, rewarded=rewarded, says=says, kept=kept)


def _verdict(record: AttemptRecord) -> str:
    reason = "resolved" if record.resolved else record.failure_reason or "quarantined"
    return f"{reason}: {record.detail}" if record.detail else str(reason)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _RedTeamAgent:
    """Runs the script of each attempt; with `judges_in_place`, the tests in the same sandbox."""

    judges_in_place: bool
    name: str = "redteam"
    scripts: dict[TaskId, str] = field(default_factory=dict)
    tasks: dict[TaskId, Task] = field(default_factory=dict)
    exit_codes: dict[TaskId, int | None] = field(default_factory=dict)

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Apply the reference solution, or run the script."""
        task, script = self.tasks[problem.id], self.scripts[problem.id]
        outcome = AgentOutcome(ending=AgentEnding.SUBMITTED)
        if not script:
            scripted = task.scripted_solution
            oracle = OracleAgent(
                patches={task.id: task.answer_key.solution_patch},
                scripts={} if scripted is None else {task.id: scripted},
            )
            outcome = oracle.solve(problem, sandbox, budget, model)
        elif not self.judges_in_place:
            outcome = CommandAgent(f"set -e\n{script}").solve(problem, sandbox, budget, model)
        if self.judges_in_place:
            self.exit_codes[problem.id] = self._judge(task, script, sandbox, budget)
        return outcome

    @staticmethod
    def _judge(task: Task, script: str, sandbox: Sandbox, budget: Budget) -> int | None:
        """The exit code of the tests after a script, in one command."""
        ended = sandbox.run(
            Command(
                argv=("sh", "-c", _JUDGED_IN_PLACE),
                env={
                    **task.problem.test_env,
                    "REDTEAM": f"set -e\n{script}",
                    "REDTEAM_TESTS": task.problem.test_command,
                },
                stdin=base64.b64encode(task.answer_key.tests_patch),
                timeout=budget.remaining(),
            )
        )
        return ended.exit_code
