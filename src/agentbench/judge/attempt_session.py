"""An attempt whose agent works outside of the harness: begun, worked on and judged in turn.

No thread waits while the agent thinks. The calls may come from different threads, one at a time.
"""

from contextlib import ExitStack

from msgspec.structs import replace

from agentbench.agents.interface import Agent, AgentOutcome
from agentbench.attempt.attempt import Attempt, ShownBug
from agentbench.attempt.context import AgentRunOutput, AttemptOutputs
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.stage_runner import RunningStage, StageRunner
from agentbench.judge.outside_agent import OutsideAgent
from agentbench.tasks.task import Task
from agentbench.taxonomy import StageName


class AttemptSession:
    """One attempt: `begin`, work in its sandbox, then `finish` or `abandon`."""

    def __init__(
        self, task: Task, agent: Agent, resources: RunResources, slot: AttemptSlot
    ) -> None:
        """An attempt of an agent that only gives its name."""
        stages = StageRunner(resources, slot)
        self._attempt = Attempt(
            task=task, agent=agent, resources=resources, slot=slot, stages=stages
        )
        self._state: ShownBug | AttemptOutputs | None = None
        self._stage: RunningStage | None = None
        self._closing = ExitStack()
        self._agents_sandbox = ExitStack()

    def begin(self) -> OutsideAgent | None:
        """Prepare the task, and open the agent's sandbox.

        None: the attempt has failed already, and `finish` gives its record.

        Raises:
            StorageError: the disk has no space for its files.
        """
        attempt = self._attempt
        attempt.stages.events.registered()
        state = self._state = self._closing.enter_context(attempt.prepared())
        if not isinstance(state, ShownBug):
            return None
        self._closing.callback(self._agents_sandbox.close)
        stage = self._stage = attempt.stages.begin(StageName.AGENT_RUN)
        context = replace(state.ready, stage=StageName.AGENT_RUN, sink=stage.sink)
        outside = OutsideAgent(context, self._agents_sandbox)
        self._closing.callback(outside.close)
        stage.do(lambda _sink: outside.open())
        return None if stage.has_failed else outside

    def finish(self, outside: OutsideAgent | None, outcome: AgentOutcome) -> AttemptRecord:
        """Judge the agent's work, and remove the sandbox.

        Args:
            outside: The result of `begin`.
            outcome: How the agent ended.

        Raises:
            StorageError: the disk has no space for its files.
        """
        attempt, state = self._attempt, self._state
        assert state is not None
        with self._closing:
            if not isinstance(state, ShownBug):
                return attempt.record(state)
            if self._stage is None:  # `begin` could not open its log
                return attempt.record(state.outputs)
            work: AgentRunOutput | None = None
            if outside is not None:
                work = self._stage.do(lambda _sink: outside.finish(outcome))
            self._stage.end()
            if work is None or work.sandbox is None:  # nothing in it is judged any more
                attempt.resources.background.remove(self._agents_sandbox.pop_all().close)
            final = attempt.judged(state, work)
            return attempt.record(replace(state.outputs, agent_run=work, final_test=final))

    def abandon(self) -> None:
        """Remove the sandbox; there is no record."""
        self._closing.close()
