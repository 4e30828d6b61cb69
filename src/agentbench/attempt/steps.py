"""Runs the steps of a task in one container: each is begun, worked on and judged in turn.

The container and its processes run through all steps. A verifier with its own container judges
while the agent's is frozen. The files of a verifier in the agent's container are removed before the
next step begins.
"""

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from hashlib import sha256
from pathlib import PurePosixPath

from agentbench.attempt.agent_work import agent_outcome
from agentbench.attempt.agent_work.artifacts import collect_artifacts, read_artifacts
from agentbench.attempt.context import AgentRunOutput, Artifacts, PreparedContext
from agentbench.attempt.recording import shortened
from agentbench.attempt.sandboxes import health_error
from agentbench.attempt.verifier import empty_script_folders, run_verifier
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.trees import EntryKind, TreeEntry
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, LastingSandbox, Sandbox, Stream
from agentbench.scoring.classification import exception_fact, last_line
from agentbench.scoring.evidence import Ending, Evidence, ExceptionFact, Finding
from agentbench.scoring.steps import StepEvidence, combined_evidence
from agentbench.tasks.steps import SETUP_SCRIPT, STEPS_FOLDER, TaskStep, step_files
from agentbench.taxonomy import FailureReason, Fault, StageName

SolveStep = Callable[[PreparedContext], Evidence]
"""Lets an agent work on the step that the context's task is in."""


class StepWalk:
    """The steps that were run, and the agent's work after the last one."""

    def __init__(self, context: PreparedContext, sandbox: Sandbox) -> None:
        """Run the steps in a sandbox that is not used for anything else."""
        assert isinstance(sandbox, LastingSandbox)  # only a container engine has steps
        self._context = context
        self._sandbox = sandbox
        self.steps: list[StepEvidence] = []
        self.change: JudgedChange | None = None  # None: no step could begin
        self.findings: tuple[Finding, ...] = ()
        self.artifacts: Artifacts = {}

    def run(self, solve: SolveStep | None, *, judges_last: bool) -> None:
        """Run the steps in turn until one of them ends the rest.

        Args:
            solve: The agent's work; None: nothing is done.
            judges_last: Whether the verifier of the last step is run, too.

        Raises:
            SandboxError: a sandbox is lost, or could not be created.
        """
        steps = self._context.task.pending_steps
        for step in steps:
            self._context = context_in(self._context, step)
            self.steps.append(StepEvidence(name=step.name, min_reward=step.min_reward))
            try:
                self._run_step(step, solve, judges=judges_last or step is not steps[-1])
            finally:
                _save(self._context, self.steps[-1])
            if self.steps[-1].ends_rest:
                break

    @property
    def needs_sandbox(self) -> bool:
        """Whether the last step still has to be judged in the sandbox."""
        if not self.steps:
            return False
        verifier, last = self._context.task.answer_key.verifier, self.steps[-1]
        is_open = last.setup is None and last.verifier is None
        return is_open and verifier is not None and verifier.is_shared

    def _run_step(self, step: TaskStep, solve: SolveStep | None, *, judges: bool) -> None:
        context, sandbox = self._context, self._sandbox
        setup = self._begin(step)
        if setup is not None:
            self._note(setup=setup)
            return
        if solve is not None:
            _say(context, "the agent works")
            self._note(agent=solve(context))
        with agent_outcome.blamed_on_agent(context):
            collect_artifacts(context, sandbox)
        extracted = agent_outcome.extract_change(context, sandbox)
        self.artifacts = read_artifacts(context, sandbox)
        self.change = agent_outcome.judged_change(context, extracted)
        self.findings = extracted.findings
        if judges:
            self._note(verifier=self._judge(self.change))

    def _note(self, **facts: Evidence | ExceptionFact) -> None:
        self.steps[-1] = self.steps[-1].replace(**facts)

    def _begin(self, step: TaskStep) -> ExceptionFact | None:
        """Write the step's files and run its set-up; returns why it cannot begin, or None."""
        context, sandbox = self._context, self._sandbox
        files = step_files(context.task.folder, step.name)
        # After the agent's first step, the agent may have left the cause in the container.
        is_first = len(self.steps) == 1
        fault = Fault.TASK if is_first else Fault.AGENT
        with nullcontext() if is_first else agent_outcome.blamed_on_agent(context):
            if files:
                sandbox.write_tree(sandbox.workspace, tar_of_files(files))
            if PurePosixPath(SETUP_SCRIPT) in files:
                _say(context, SETUP_SCRIPT)
                broken = _run_setup(context, sandbox, fault)
                if broken is not None:
                    return broken
            error = health_error(context, sandbox)
        if error is None:
            return None
        return exception_fact(StageName.FINAL_TEST, error.blamed_on(fault))

    def _judge(self, change: JudgedChange) -> Evidence:
        """The evidence of the verifier, which runs here, or elsewhere while this one is frozen."""
        context, sandbox = self._context, self._sandbox
        verifier = context.task.answer_key.verifier
        assert verifier is not None  # a task with steps has a verifier
        _say(context, "the verifier runs")
        work = AgentRunOutput(
            evidence=Evidence(),
            sandbox=sandbox if verifier.is_shared else None,
            artifacts=self.artifacts,
        )
        name = _file_name(str(context.task.problem.step))
        if not verifier.is_shared:
            with ExitStack() as stack:
                with agent_outcome.blamed_on_agent(context):
                    stack.enter_context(sandbox.frozen())
                return run_verifier(context, change, name=name, work=work)
        with agent_outcome.blamed_on_agent(context):
            evidence = run_verifier(context, change, name=name, work=work, ends_sandbox=False)
            sandbox.set_network(context.task.environment.network)
            empty_script_folders(context.task, sandbox)
        return evidence


def walk_idle(context: PreparedContext, sandbox: Sandbox) -> Evidence:
    """The evidence of all steps without an agent: the rewards for doing nothing.

    A later step may need earlier work, so it is not the task's fault if it cannot begin.

    Raises:
        SandboxError: a sandbox is lost, or could not be created.
    """
    walk = StepWalk(context, sandbox)
    walk.run(None, judges_last=True)
    last, strategy, total = walk.steps[-1], context.task.reward_strategy, len(context.task.steps)
    if last.setup is None or len(walk.steps) == 1:
        return combined_evidence(walk.steps, total, strategy)
    evidence = combined_evidence(walk.steps[:-1], total, strategy)
    assert evidence.rewards is not None  # it is combined from rewards
    update = {"unfinished": f"step {last.name} could not begin: {last.setup.message}"}
    return evidence.replace(rewards=evidence.rewards.replace(**update))


def judge_last_step(
    context: PreparedContext, change: JudgedChange | None, work: AgentRunOutput
) -> tuple[StepEvidence, ...]:
    """The steps of an agent's work; judges the last one if it was not judged before.

    Raises:
        SandboxError: the sandbox could not be created or is lost.
    """
    *before, last = work.steps
    if last.setup is not None or last.verifier is not None:
        return work.steps
    for step in context.task.steps[: len(work.steps)]:
        context = context_in(context, step)
    verifier = run_verifier(context, change, name=_file_name(last.name), work=work)
    judged = last.replace(verifier=verifier)
    _save(context, judged)
    return (*before, judged)


def context_in(context: PreparedContext, step: TaskStep) -> PreparedContext:
    """The inputs of a step, with its files as a part of the state before the agent's work.

    Raises:
        InputError: a file cannot be read.
    """
    files = step_files(context.task.folder, step.name)
    before = context.prepared
    entries = {
        path: TreeEntry(
            kind=EntryKind.FILE,
            digest=sha256(file.content).hexdigest(),
            size=len(file.content),
            executable=file.executable,
        )
        for path, file in files.items()
    }
    prepared = dataclasses.replace(
        before,
        base={**before.base, **entries},
        content=lambda path: files[path].content if path in files else before.content(path),
    )
    return replace(context, task=context.task.in_step(step), prepared=prepared)


def _run_setup(context: PreparedContext, sandbox: Sandbox, fault: Fault) -> ExceptionFact | None:
    """Run the set-up script of a step; returns why it failed, or None."""
    result = sandbox.run(
        Command(
            argv=("bash", f"{sandbox.workspace}/{SETUP_SCRIPT}"),
            timeout=context.settings.scaled(context.task.setup.timeout_s),
            env=context.task.environment.env,
            user=context.task.environment.user,
            sink=context.sink,
        )
    )
    if result.ok:
        return None
    timed_out = result.ending is Ending.TIMED_OUT
    reason = FailureReason.from_stage(StageName.SETUP, 124 if timed_out else 1)
    assert reason is not None  # neither is 0
    how = f"{result.ending.value} {result.exit_code if result.ending is Ending.EXITED else ''}"
    message = (
        f"{SETUP_SCRIPT} of step {context.task.problem.step}: {how.strip()}{last_line(result)}"
    )
    return ExceptionFact(type_name="StepSetupError", message=message, reason=reason, fault=fault)


def _file_name(step: str) -> str:
    return f"{STEPS_FOLDER}/{step}/verifier"


def _save(context: PreparedContext, step: StepEvidence) -> None:
    parts = {"agent": step.agent, "verifier": step.verifier}
    update = {name: shortened(part) for name, part in parts.items() if part is not None}
    text = step.replace(**update).model_dump_json(indent=1)
    context.save(f"{STEPS_FOLDER}/{step.name}/evidence.json", text.encode())


def _say(context: PreparedContext, text: str) -> None:
    context.sink(Stream.STDOUT, f"step {context.task.problem.step}: {text}\n".encode())
