"""Runs one attempt: its stages in turn, its verdict and its record."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from agentbench.agents.interface import Agent
from agentbench.attempt.context import AgentRunOutput, AttemptOutputs, PreparedContext
from agentbench.attempt.logs import EXCHANGE_LOG, write_trajectory
from agentbench.attempt.preparation import TaskPreparation
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.recording import AttemptTimes, make_record
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.stage_runner import StageRunner
from agentbench.attempt.stages.agent_run import AgentInputs, agent_run
from agentbench.attempt.stages.judged_tests import expected_tests
from agentbench.attempt.stages.judging import FinalTestPreparation, baseline_run, final_test
from agentbench.models.interface import ModelEndpoint
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.taxonomy import StageName
from agentbench.scoring.verdict import baseline_failure
from agentbench.tasks.task import Task


def run_pipeline(
    task: Task, agent: Agent, resources: RunResources, slot: AttemptSlot
) -> AttemptRecord:
    """Run one attempt to its verdict. Its record, and not an exception, says how it ended.

    Raises:
        StorageError: the disk has no space for its files.
    """
    runner = AttemptRunner(task, agent, resources, slot)
    return runner.record(runner.run())


class PreparedAttempt(Struct, frozen=True, kw_only=True):
    """The outputs of the stages before the agent's; None: one of them ended the attempt."""

    outputs: AttemptOutputs
    ready: PreparedContext | None = None
    baseline: Evidence | None = None


class AttemptRunner:
    """Runs the stages of one attempt until one of them ends it."""

    def __init__(
        self, task: Task, agent: Agent, resources: RunResources, slot: AttemptSlot
    ) -> None:
        self._started_at, self._started = datetime.now(UTC), time.monotonic()
        self._task = task
        self._resources = resources
        self._slot = slot
        self._agent = AgentInputs(
            agent=agent,
            secrets=resources.secrets,
            open_endpoint=self._open_endpoint if resources.gateway is not None else None,
        )
        self.stages = StageRunner(resources, slot)
        self.preparation = TaskPreparation(task, resources, self.stages)

    def run(self) -> AttemptOutputs:
        """Run the stages, and remove the preparation if only this attempt may use it."""
        self.stages.events.registered()
        try:
            return self._run_stages()
        finally:
            self.preparation.forget_uncached()

    def prepare(self) -> PreparedAttempt:
        """Run the stages before the agent's."""
        ready = self.preparation.prepare()
        if ready is None:
            return PreparedAttempt(outputs=AttemptOutputs(image=self.preparation.image))
        outputs = AttemptOutputs(image=ready.image, prepared=ready.prepared)
        return PreparedAttempt(outputs=outputs, ready=ready, baseline=self._baseline(ready))

    def final_test(
        self, prepared: PreparedAttempt, work: AgentRunOutput | None, upcoming: FinalTestPreparation
    ) -> AttemptOutputs:
        """Judge an agent's work; without a change, nothing is run."""
        outputs = replace(prepared.outputs, agent_run=work)
        if work is None or work.change is None or (work.steps and work.error is not None):
            return outputs  # with steps, the change may be from a step before the error
        change, ready, baseline = work.change, prepared.ready, prepared.baseline
        assert ready is not None
        assert baseline is not None
        final = self.stages.run(
            StageName.FINAL_TEST,
            lambda sink: final_test(
                replace(ready, stage=StageName.FINAL_TEST, sink=sink),
                baseline=baseline,
                change=change,
                preparation=upcoming,
                work=work,
            ),
        )
        return replace(outputs, final_test=final)

    def record(self, outputs: AttemptOutputs) -> AttemptRecord:
        """The record of the attempt, with its verdict; also writes its trajectory.

        Raises:
            StorageError: the disk has no space for its files.
        """
        slot, resources = self._slot, self._resources
        times = AttemptTimes(
            started_at=self._started_at,
            total=timedelta(seconds=time.monotonic() - self._started),
            queue_wait=timedelta(seconds=self._started - (slot.queued_at or self._started)),
        )
        record = make_record(
            task=self.preparation.task,  # with the name of its image
            agent=self._agent.agent,
            resources=resources,
            slot=slot,
            times=times,
            outputs=replace(outputs, results=tuple(self.stages.results)),
        )
        self.stages.events.judged(record)
        gateway, work = resources.gateway, outputs.agent_run
        if gateway is not None and work is not None and work.traffic is not None:
            write_trajectory(
                slot.folder,
                agent=self._agent.agent,
                model=gateway.model,
                session=f"{slot.run_id}/{self._task.id}/{slot.attempt}",
                facts=work.traffic,
            )
        return record

    def _run_stages(self) -> AttemptOutputs:
        prepared = self.prepare()
        ready, baseline = prepared.ready, prepared.baseline
        if ready is None or baseline is None:
            return prepared.outputs
        judged = replace(ready, stage=StageName.FINAL_TEST)
        with closing(FinalTestPreparation(judged, baseline)) as upcoming:
            work = self.stages.run(
                StageName.AGENT_RUN,
                lambda sink: agent_run(
                    replace(ready, sink=sink, stage=StageName.AGENT_RUN), self._agent, upcoming
                ),
            )
            return self.final_test(prepared, work, upcoming)

    def _baseline(self, ready: PreparedContext) -> Evidence | None:
        """The evidence of the baseline run; None if it shows a fault of the task."""
        cached = self.preparation.load_baseline()
        if cached is not None:
            self.stages.add(cached)
        else:
            stage = StageName.BASELINE_RUN
            self.stages.run(
                stage, lambda sink: baseline_run(replace(ready, sink=sink, stage=stage))
            )
        result = self.stages.results[-1]
        if baseline_failure(expected_tests(ready.task), result.evidence) is not None:
            return None
        report = self._baseline_report()
        if cached is None and not result.evidence.warnings and report is not None:
            self.preparation.store_baseline(result, report)
        return result.evidence

    def _baseline_report(self) -> bytes | None:
        """The report to store with a baseline run; empty for a script, None: store nothing.

        The key of a baseline run has neither the files of steps nor the id of a named image.
        """
        folder, verifier = self._slot.folder, self._task.answer_key.verifier
        if (report := folder / "baseline.json").is_file():
            return report.read_bytes()
        if verifier is None or verifier.image is not None or self._task.steps:
            return None
        return None if any(folder.glob("baseline-*")) else b""

    @contextmanager
    def _open_endpoint(self) -> Iterator[ModelEndpoint]:
        gateway, slot = self._resources.gateway, self._slot
        assert gateway is not None
        with gateway.open_endpoint(
            budget_usd=self._task.problem.limits.max_cost_usd,
            log=slot.folder / EXCHANGE_LOG,
            lane=f"{self._task.id}/{slot.attempt}",
        ) as endpoint:
            if slot.status is not None:
                slot.status.traffic = endpoint.traffic
            yield endpoint
