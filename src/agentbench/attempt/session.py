"""An attempt whose agent works outside of the harness: begun, worked on and judged in turn.

No thread waits while the agent thinks. The calls may come from different threads, one at a time.
"""

from contextlib import ExitStack, closing

from msgspec.structs import replace

from agentbench.agents.interface import Agent, AgentOutcome
from agentbench.attempt.context import AgentRunOutput, PreparedContext
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.runner import AttemptRunner, PreparedAttempt
from agentbench.attempt.stage_runner import RunningStage
from agentbench.attempt.stages.judging import FinalTestPreparation
from agentbench.attempt.stages.outside_agent import OutsideAgent
from agentbench.scoring.taxonomy import StageName
from agentbench.tasks.task import Task


class AttemptSession:
    """One attempt: `begin`, work in its sandbox, then `finish` or `abandon`."""

    def __init__(
        self, task: Task, agent: Agent, resources: RunResources, slot: AttemptSlot
    ) -> None:
        """An attempt of an agent that only gives its name."""
        self._runner = AttemptRunner(task, agent, resources, slot)
        self._prepared: PreparedAttempt | None = None
        self._stage: RunningStage | None = None
        self._upcoming: FinalTestPreparation | None = None
        self._closing = ExitStack()

    def begin(self) -> OutsideAgent | None:
        """Prepare the task, and open the agent's sandbox.

        None: the attempt has failed already, and `finish` gives its record.

        Raises:
            StorageError: the disk has no space for its files.
        """
        runner = self._runner
        runner.stages.events.registered()
        self._closing.callback(runner.preparation.forget_uncached)
        prepared = self._prepared = runner.prepare()
        if prepared.ready is None or prepared.baseline is None:
            return None
        judged = replace(prepared.ready, stage=StageName.FINAL_TEST)
        preparation = FinalTestPreparation(judged, prepared.baseline)
        self._upcoming = self._closing.enter_context(closing(preparation))
        stage = self._stage = runner.stages.begin(StageName.AGENT_RUN)
        context: PreparedContext = replace(
            prepared.ready, stage=StageName.AGENT_RUN, sink=stage.sink
        )
        outside = OutsideAgent(context, preparation)
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
        prepared = self._prepared
        assert prepared is not None
        with self._closing:
            if self._stage is None or self._upcoming is None:
                return self._runner.record(prepared.outputs)
            work: AgentRunOutput | None = None
            if outside is not None:
                work = self._stage.do(lambda _sink: outside.finish(outcome))
            self._stage.end()
            outputs = self._runner.final_test(prepared, work, self._upcoming)
            return self._runner.record(outputs)

    def abandon(self) -> None:
        """Remove the sandbox; there is no record."""
        self._closing.close()
