"""Lets the kinds of cheats attempt tasks, and tells which of them the grader rewards."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from agentbench.agents.command import CommandAgent
from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.agents.reference import OracleAgent
from agentbench.attempt.record import AttemptRecord
from agentbench.audit.patch import parse_patch
from agentbench.errors import InputError, UsageError
from agentbench.extensions.redteam.kinds import CheatKind, script_of
from agentbench.extensions.redteam.names import NOTHING, REFERENCE, GraderName
from agentbench.models.interface import ModelEndpoint
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.options import RunOptions
from agentbench.runs.run import Run
from agentbench.runs.start import start_run
from agentbench.sandbox.back_ends import BACK_ENDS_BY_NAME
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.sandbox.registry import select_back_end
from agentbench.scoring.evidence import AgentEnding, CommandResult
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.problem import Problem, TaskId
from agentbench.tasks.task import Task
from agentbench.tasks.test_runner_name import PYTHON_RUNNERS
from agentbench.taxonomy import Fault

SCRIPT_FILE = "script.sh"
"""In the folder of an attempt: what the cheat ran."""

OUTPUT_FILE = "tests.log"
"""In the folder of an attempt: what the tests printed, if their exit code is the grader."""

# One command, so that what the agent left running goes on; the hidden tests come on stdin.
_TESTED_IN_PLACE = """\
exec 3<&0
sh -ec "$REDTEAM" < /dev/null > /dev/null 2>&1 || true
base64 -d <&3 | git apply --whitespace=nowarn - || echo "the hidden tests do not apply"
exec sh -ec "$REDTEAM_TESTS" < /dev/null 2>&1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheatAttempt:
    """How one kind of cheat fared in one task."""

    task: str
    kind: str
    """The kind's name, `reference` or `nothing`."""

    rewarded: bool | None
    """None: the grader gave no verdict."""

    detail: str
    """What the grader said, in a line."""

    folder: Path
    """The evidence: the script, the change and the record."""


def applicable_kinds(task: Task, kinds: Sequence[CheatKind]) -> list[CheatKind]:
    """The kinds that can have an effect with a task's runner; all if a script judges."""
    if task.answer_key.verifier is not None:
        return list(kinds)
    return [kind for kind in kinds if task.problem.tests.runner in kind.runners]


def start_cheats(
    tasks: Sequence[Task], kinds: Sequence[CheatKind], grader: GraderName, options: RunOptions
) -> "CheatRun":
    """Make all checks, and create the folder of a run with an attempt for each task and kind.

    Raises:
        InputError: a task has no reference solution.
        UsageError: an option is wrong, the grader cannot judge such a task, or the cheats would
            run without a sandbox.
        UnavailableError: the sandbox is not available.
    """
    _refuse_tasks(tasks, grader)
    # An agent that is an object counts as trusted, and no cheat is.
    provider = select_back_end(options.sandbox, cache_dir=options.cache_dir).provider
    back_end = BACK_ENDS_BY_NAME.get(provider.name)
    if back_end is not None and not back_end.isolates:
        raise UsageError(
            "cheats change the machine that they run on; start Docker or make bubblewrap work "
            "(`agentbench doctor` says how)"
        )
    planned: dict[TaskId, _Planned] = {}
    for task in tasks:
        scripts = _scripts(task, applicable_kinds(task, kinds))
        for kind, script in {REFERENCE: "", NOTHING: "true", **scripts}.items():
            copied = task.replace(problem=task.problem.replace(id=TaskId(f"{task.id}--{kind}")))
            planned[copied.id] = _Planned(copied, task.id, kind, script)
    test_runs: dict[TaskId, CommandResult] | None = None
    if grader is GraderName.EXIT_CODE:
        test_runs = {}
        options = options.replace(integrity_controls=ControlLevel.OFF)  # no verdict is asked for
    agent = _CheatingAgent(planned, test_runs)
    run = start_run(
        [each.copied for each in planned.values()], options.replace(agent=agent, attempts=1)
    )
    return CheatRun(run=run, planned=planned, test_runs=test_runs)


class _Planned(NamedTuple):
    """An attempt to make."""

    copied: Task
    """The task, under an id of its own."""

    task: str
    kind: str
    script: str
    """What it runs; empty: the reference solution."""


def _refuse_tasks(tasks: Sequence[Task], grader: GraderName) -> None:
    for task in tasks:
        if not task.answer_key.solution_patch.strip() and task.scripted_solution is None:
            raise InputError(
                f"{task.folder}: expected a reference solution, found none; without one nothing "
                "shows that the grader rewards a right fix"
            )
        if grader is GraderName.EXIT_CODE and task.answer_key.verifier is not None:
            raise UsageError(
                f"--grader {grader}: {task.id} is judged by a script and not by its test command; "
                f"use --grader {GraderName.AGENTBENCH}"
            )


def _scripts(task: Task, kinds: Sequence[CheatKind]) -> Mapping[str, str]:
    """The script of each kind for a task, by the kind's name."""
    hidden = tuple(file.path for file in parse_patch(task.answer_key.tests_patch))
    changed = (file.path for file in parse_patch(task.answer_key.solution_patch))
    files = [path for path in changed if path not in hidden]
    if task.answer_key.verifier is None and task.problem.tests.runner in PYTHON_RUNNERS:
        files = [path for path in files if path.endswith(".py")]
    return {kind.name: script_of(kind, tuple(files), hidden) for kind in kinds}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheatRun:
    """A run whose attempts are the kinds of cheats."""

    run: Run
    planned: Mapping[TaskId, _Planned]
    """By the id of an attempt's task."""

    test_runs: Mapping[TaskId, CommandResult] | None
    """The runs of the tests whose exit codes decide; None: the verdicts decide."""

    def results(self) -> Iterator[CheatAttempt]:
        """The attempts in the order of tasks and kinds, after the run; writes their evidence.

        Raises:
            OSError: the folder of the run cannot be written.
        """
        records = {one.task_id: one for one in ReportedRun.read(self.run.store.folder).records()}
        for copied, (_, task, kind, script) in self.planned.items():
            record = records.get(copied)
            if record is None:
                folder, detail = self.run.store.folder, "it was not attempted"
                yield CheatAttempt(
                    task=task, kind=kind, rewarded=None, detail=detail, folder=folder
                )
                continue
            folder = self.run.store.folder_of(record)
            (folder / SCRIPT_FILE).write_text(script)
            rewarded, detail = _verdict(record)
            if self.test_runs is not None:
                tested = self.test_runs.get(record.task_id)
                rewarded = None if tested is None else tested.ok
                if tested is not None:
                    ended = tested.exit_code if tested.exit_code is not None else tested.ending
                    detail = f"the tests exited with {ended}"
                    (folder / OUTPUT_FILE).write_text(tested.stdout)
            yield CheatAttempt(
                task=task, kind=kind, rewarded=rewarded, detail=detail, folder=folder
            )


def _verdict(record: AttemptRecord) -> tuple[bool | None, str]:
    reason = "resolved" if record.resolved else record.failure_reason or "quarantined"
    rewarded: bool | None = record.resolved
    if record.fault is Fault.INFRASTRUCTURE:
        rewarded = None
    return rewarded, f"{reason}: {record.detail}" if record.detail else str(reason)


class _CheatingAgent:
    """Runs the script of each attempt, and the tests after it if their exit code decides."""

    name = "redteam"

    def __init__(
        self,
        planned: Mapping[TaskId, _Planned],
        test_runs: dict[TaskId, CommandResult] | None,
    ) -> None:
        self._planned = planned
        self._test_runs = test_runs

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Apply the reference solution, or run the script."""
        task, _, _, script = self._planned[problem.id]
        outcome = AgentOutcome(ending=AgentEnding.SUBMITTED)
        if not script:
            scripted = task.scripted_solution
            oracle = OracleAgent(
                patches={task.id: task.answer_key.solution_patch},
                scripts={} if scripted is None else {task.id: scripted},
            )
            outcome = oracle.solve(problem, sandbox, budget, model)
        elif self._test_runs is None:
            outcome = CommandAgent(f"set -e\n{script}").solve(problem, sandbox, budget, model)
        if self._test_runs is not None:
            self._test_runs[problem.id] = _run_in_place(task, script, sandbox, budget)
        return outcome


def _run_in_place(task: Task, script: str, sandbox: Sandbox, budget: Budget) -> CommandResult:
    """Run a script and then the tests in one command."""
    problem = task.problem
    return sandbox.run(
        Command(
            argv=("sh", "-c", _TESTED_IN_PLACE),
            env={
                **problem.test_env,
                "REDTEAM": script,
                "REDTEAM_TESTS": "\n".join([*problem.test_before, problem.test_command]),
            },
            stdin=base64.b64encode(task.answer_key.tests_patch),
            timeout=min(budget.remaining(), timedelta(seconds=2 * problem.test_timeout_s)),
        )
    )
