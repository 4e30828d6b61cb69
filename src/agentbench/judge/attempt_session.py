"""An attempt whose agent works outside of the harness: begun, worked on and judged in turn.

No thread waits while the agent thinks. The calls may come from different threads, one at a time.
"""

from contextlib import ExitStack
from dataclasses import replace
from typing import cast

from agentbench.agents.interface import Agent, AgentOutcome
from agentbench.attempt.attempt import Attempt, RunningStage, ShownBug
from agentbench.attempt.context import AgentRunOutput, AttemptOutputs
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.judge.outside_agent import OutsideAgent
from agentbench.tasks.task import Task
from agentbench.taxonomy import StageName


class AttemptSession:
    """One attempt: `begin`, work in its sandbox, then `finish` or `abandon`."""

    def __init__(
        self, task: Task, agent: Agent, resources: RunResources, slot: AttemptSlot
    ) -> None:
        """An attempt of an agent that only gives its name."""
        self._attempt = Attempt(task, resources, slot)
        self._agent = agent
        self._resources = resources
        self._state: ShownBug | AttemptOutputs | None = None
        self._stage: RunningStage | None = None
        self._closing = ExitStack()
        self._running = ExitStack()  # the stage agent_run, as long as the agent works
        self._agents_sandbox = ExitStack()

    def begin(self) -> OutsideAgent | None:
        """Prepare the task, and open the agent's sandbox.

        None: the attempt has failed already, and `finish` gives its record.

        Raises:
            StorageError: the disk has no space for its files.
        """
        attempt = self._attempt
        attempt.files.registered()
        state = self._state = self._closing.enter_context(attempt.shown_bug())
        if not isinstance(state, ShownBug):
            return None
        self._closing.callback(self._agents_sandbox.close)
        with ExitStack() as running:
            stage = running.enter_context(attempt.stage(StageName.AGENT_RUN))
            attempt.require_time()
            context = replace(state.ready, stage=StageName.AGENT_RUN, sink=stage.sink)
            outside = OutsideAgent(context, self._agents_sandbox)
            self._closing.callback(outside.close)
            outside.open()
            self._running, self._stage = running.pop_all(), stage
            return outside
        return None  # the stage has recorded an error

    def finish(self, outside: OutsideAgent | None, outcome: AgentOutcome) -> AttemptRecord:
        """Judge the agent's work, and remove the sandbox.

        Args:
            outside: The result of `begin`.
            outcome: How the agent ended.

        Raises:
            StorageError: the disk has no space for its files.
        """
        attempt, state, stage = self._attempt, self._state, self._stage
        assert state is not None
        with self._closing:
            if not isinstance(state, ShownBug):
                return attempt.record(self._agent, state)
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
            return attempt.record(self._agent, outputs)

    def abandon(self) -> None:
        """Remove the sandbox; there is no record."""
        self._closing.close()
