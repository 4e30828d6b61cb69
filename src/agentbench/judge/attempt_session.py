"""An attempt whose agent works outside of the harness: begun, worked on and judged in turn.

No thread waits while the agent thinks. The calls may come from different threads, one at a time.
"""

import base64
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final, cast

from agentbench.agents.interface import Agent, AgentOutcome
from agentbench.attempt.agent_work import agent_outcome
from agentbench.attempt.agent_work.agent_sandbox import BoundedSandbox
from agentbench.attempt.attempt import Attempt, ReproducedBug, RunningStage
from agentbench.attempt.context import (
    AgentRunOutput,
    AttemptOutputs,
    IncompleteStageError,
    PreparedContext,
)
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.sandboxes import (
    agent_network,
    await_health,
    is_judged_in_place,
    open_agent_sandbox,
    service_warnings,
    watched_services,
)
from agentbench.attempt.stages.agent_run import AgentWork, budget_of, extract_work, in_time
from agentbench.attempt.timeline.recorder import TimelineRecorder, recording, timeline_mount
from agentbench.errors import RunCancelled, SandboxError
from agentbench.sandbox.archives import tar_of_file
from agentbench.sandbox.interface import Command, Sandbox, ServiceReport
from agentbench.scoring.evidence import Evidence
from agentbench.tasks.task import Task
from agentbench.taxonomy import StageName

_MAX_FILE_BYTES: Final = 64 << 20


class OutsideAgent:
    """The sandbox of one agent; the owner closes it."""

    def __init__(
        self,
        context: PreparedContext,
        opened: ExitStack,
        recorder: TimelineRecorder | None = None,
    ) -> None:
        """An agent whose sandbox will belong to `opened`; the recorder notes its states."""
        self._context = context
        self._opened = opened
        self._recorder = recorder
        self._sandbox: Sandbox | None = None
        self._watched = ExitStack()  # its services
        self._working = ExitStack()  # while the agent works
        self._failures: list[ServiceReport] = []
        self._began = time.monotonic()
        self.budget = budget_of(context)
        """The agent's limits; its time starts when the sandbox is open."""

    @property
    def context(self) -> PreparedContext:
        return self._context

    def open(self) -> None:
        """Open the sandbox.

        Raises:
            GitCheckoutError: the hidden tests do not fit the base commit.
            SandboxError: the sandbox could not be created.
        """
        context = self._context
        context.hidden_tests.check()
        mounts, recorder = list(context.runner.mounts()), self._recorder
        if recorder is not None:
            mounts.append(timeline_mount())
        sandbox = self._sandbox = self._opened.enter_context(
            open_agent_sandbox(context, mounts, plain_workspace=True)
        )
        if recorder is not None:
            # Noted after each command, since the loop decides what comes next.
            self._watched.enter_context(recording(recorder, sandbox, has_model=True))
        self._failures = self._watched.enter_context(watched_services(context, sandbox))
        await_health(context, sandbox)
        self._working.enter_context(agent_network(context, sandbox))
        self.budget = budget_of(context)
        self._began = time.monotonic()

    @property
    def sandbox(self) -> BoundedSandbox:
        """The sandbox, whose commands end with the budget."""
        assert self._sandbox is not None
        environment = self._context.task.environment
        return BoundedSandbox(
            self._sandbox,
            self.budget,
            self._context.sink,
            environment.env,
            environment.user,
            recorder=self._recorder,
        )

    def read_file(self, path: PurePosixPath) -> bytes:
        """The content of a file, relative to the workspace; it is not written to the stage's log.

        Raises:
            SandboxError: there is no such file, it is larger than 64 MiB, or the sandbox is lost.
        """
        assert self._sandbox is not None
        # The output of a command is text, so that other bytes would be lost.
        command = Command(
            argv=("sh", "-c", 'base64 < "$0"', str(path)),
            timeout=self.budget.remaining(),
            output_cap=2 * _MAX_FILE_BYTES,
            user=self._context.task.environment.user,
        )
        done = self._sandbox.run(command)
        if not done.ok:
            why = done.stderr.strip()[:200] or f"it ended in {done.ending.value}"
            raise SandboxError(f"{path}: cannot be read: {why}")
        if done.truncated or len(done.stdout) > 2 * _MAX_FILE_BYTES:
            raise SandboxError(f"{path}: expected at most {_MAX_FILE_BYTES >> 20} MiB, found more")
        return base64.b64decode(done.stdout)

    def write_file(self, path: PurePosixPath, content: bytes) -> None:
        """Write a file, relative to the workspace; its folders are created.

        Raises:
            SandboxError: it cannot be written, or the sandbox is lost.
        """
        assert self._sandbox is not None
        target = self._sandbox.workspace / path
        self._sandbox.write_tree(target.parent, tar_of_file(target.name, content))
        if self._recorder is not None:
            self._recorder.note()

    def finish(self, outcome: AgentOutcome) -> AgentRunOutput:
        """End the agent's processes, and extract its change.

        Raises:
            IncompleteStageError: an error ended it; the output has the agent's work before.
        """
        outcome = in_time(outcome, self.budget)
        context, sandbox, work = self._context, self._sandbox, AgentWork(outcome=outcome)
        assert sandbox is not None
        try:
            self._working.close()
            work.evidence = Evidence(
                agent=outcome.ending,
                agent_detail=outcome.detail,
                memory_limit_mib=context.task.environment.memory_mib,
                own_seconds=time.monotonic() - self._began,
            )
            extract_work(context, sandbox, work, self._recorder)
            findings = (*work.findings, *agent_outcome.suspicious_findings(context, work.change))
            self._watched.close()
        except (Exception, RunCancelled) as error:
            part = AgentRunOutput(outcome=outcome, change=work.change)
            raise IncompleteStageError(part) from error
        evidence = work.evidence.replace(
            findings=findings, warnings=service_warnings(self._failures)
        )
        return AgentRunOutput(
            evidence=evidence,
            outcome=outcome,
            change=work.change,
            sandbox=sandbox if is_judged_in_place(context.task) else None,
            artifacts=work.artifacts,
        )

    def close(self) -> None:
        """End the work without judging it; the owner removes the sandbox."""
        # The network needs no change in a sandbox that is removed.
        self._working.pop_all()
        self._watched.close()


class AttemptSession:
    """One attempt: `begin`, work in its sandbox, then `finish`."""

    def __init__(
        self, task: Task, agent: Agent, resources: RunResources, slot: AttemptSlot
    ) -> None:
        """An attempt of an agent that only gives its name."""
        self._attempt = Attempt(task, resources, slot)
        self._agent = agent
        self._resources = resources
        self._state: ReproducedBug | AttemptOutputs | None = None
        self._stage: RunningStage | None = None
        self._closing = ExitStack()
        self._running = ExitStack()  # the stage agent_run, as long as the agent works
        self._agents_sandbox = ExitStack()
        self._timeline = ExitStack()  # its recorder

    def begin(self) -> OutsideAgent | None:
        """Prepare the task, and open the agent's sandbox.

        None: the attempt has failed already, and `finish` gives its record.

        Raises:
            StorageError: the disk has no space for its files.
        """
        attempt = self._attempt
        attempt.files.registered()
        state = self._state = self._closing.enter_context(attempt.reproduced_bug())
        if not isinstance(state, ReproducedBug):
            return None
        self._closing.callback(self._agents_sandbox.close)
        with ExitStack() as running:
            stage = running.enter_context(attempt.stage(StageName.AGENT_RUN))
            attempt.require_time()
            context = replace(state.ready, stage=StageName.AGENT_RUN, sink=stage.sink)
            recorder = self._timeline.enter_context(attempt.timeline_recorder(state.ready.prepared))
            self._closing.callback(self._timeline.close)
            outside = OutsideAgent(context, self._agents_sandbox, recorder)
            self._closing.callback(outside.close)
            outside.open()
            self._running, self._stage = running.pop_all(), stage
            return outside
        return None  # the stage has recorded an error

    def finish(
        self,
        outside: OutsideAgent | None,
        outcome: AgentOutcome,
        store: Callable[[AttemptRecord], None] = lambda _record: None,
    ) -> AttemptRecord:
        """Judge the agent's work, and remove the sandbox.

        Args:
            outside: The result of `begin`.
            outcome: How the agent ended.
            store: Stores the record, before the timeline of the agent's work is judged.

        Raises:
            StorageError: the disk has no space for its files.
        """
        attempt, state, stage = self._attempt, self._state, self._stage
        assert state is not None
        with self._closing:
            if not isinstance(state, ReproducedBug):
                record = attempt.record(self._agent, state)
                store(record)
                return record
            work: AgentRunOutput | None = None
            if outside is not None and stage is not None:
                with self._running:
                    attempt.require_time()
                    stage.output = outside.finish(outcome)
                work = cast("AgentRunOutput | None", stage.output)  # of `outside.finish`
            if work is None or work.sandbox is None:  # nothing in it is judged any more
                self._resources.background.remove(self._agents_sandbox.pop_all().close)
            final = attempt.judged(state, work)
            outputs = replace(state.outputs, agent_run=work, final_test=final)
            record = attempt.record(self._agent, outputs)
            store(record)
            self._timeline.close()
            attempt.judge_timeline(state, attempt.files.folder)
            return record
