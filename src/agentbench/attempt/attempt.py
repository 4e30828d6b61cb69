"""One attempt, from its task to its record. Read it from top to bottom.

    git_clone, git_checkout, setup   or the stored preparation: a snapshot
    baseline_run                     or its stored evidence: the tests have to show the bug
    agent_run                        the agent's change, its artifacts, its sandbox
    final_test                       the evidence that judges the change
    record                           the verdict on the evidence of all stages

Each call takes what the calls before it have returned. `StageRunner.run` turns an exception of a
stage into its evidence; no exception of a stage leaves this page.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from agentbench.agents.interface import Agent
from agentbench.attempt.context import (
    AgentRunOutput,
    AttemptOutputs,
    FinalTestOutput,
    PreparedContext,
)
from agentbench.attempt.expected_tests import expected_tests
from agentbench.attempt.logs import EXCHANGE_LOG, write_trajectory
from agentbench.attempt.preparation import NotPrepared, prepared_task
from agentbench.attempt.preparation_cache import StoredBaseline, log_cache_failure
from agentbench.attempt.record import AttemptRecord
from agentbench.attempt.recording import AttemptTimes, make_record
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.stage_runner import StageRunner
from agentbench.attempt.stages.agent_run import AgentInputs, agent_run
from agentbench.attempt.stages.baseline_run import baseline_run
from agentbench.attempt.stages.final_test import final_test
from agentbench.models.interface import ModelEndpoint, ModelGateway
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.verdict import baseline_failure
from agentbench.tasks.task import Task
from agentbench.taxonomy import StageName


def run_attempt(
    task: Task, agent: Agent, resources: RunResources, slot: AttemptSlot
) -> AttemptRecord:
    """Make one attempt at a task. Its record, and not an exception, says how it ended.

    Raises:
        StorageError: the disk has no space for its files.
    """
    stages = StageRunner(resources, slot)
    attempt = Attempt(task=task, agent=agent, resources=resources, slot=slot, stages=stages)
    attempt.stages.events.registered()
    with attempt.prepared() as state:
        if not isinstance(state, ShownBug):
            return attempt.record(state)
        gateway = resources.gateway
        inputs = AgentInputs(
            agent=agent,
            secrets=resources.secrets,
            open_endpoint=None if gateway is None else lambda: attempt.open_endpoint(gateway),
        )
        with ExitStack() as agents_sandbox:
            work = attempt.stages.run(
                StageName.AGENT_RUN,
                lambda sink: agent_run(
                    replace(state.ready, sink=sink, stage=StageName.AGENT_RUN),
                    inputs,
                    agents_sandbox,
                ),
            )
            if work is None or work.sandbox is None:  # nothing in it is judged any more
                resources.background.remove(agents_sandbox.pop_all().close)
            final = attempt.judged(state, work)
        return attempt.record(replace(state.outputs, agent_run=work, final_test=final))


@dataclass(frozen=True, kw_only=True)
class ShownBug:
    """A prepared task whose baseline run shows the bug, so that an agent may work on it."""

    ready: PreparedContext
    baseline: Evidence
    outputs: AttemptOutputs


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """The identity of one attempt, its stages so far, and the steps around the agent's work."""

    task: Task
    agent: Agent
    resources: RunResources
    slot: AttemptSlot
    stages: StageRunner
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    started: float = field(default_factory=time.monotonic)

    @contextmanager
    def prepared(self) -> Iterator[ShownBug | AttemptOutputs]:
        """The state before the agent's work, or the outputs of an attempt that ends before it."""
        with prepared_task(self.task, self.resources, self.stages) as ready:
            if isinstance(ready, NotPrepared):
                yield AttemptOutputs(task=ready.task, image=ready.image)
                return
            key, cache = ready.baseline_key, self.resources.cache
            # Other attempts at the task share it as long as one of them has it.
            stored = cache.load_baseline(key) if key is not None else None
            baseline = self._baseline(ready, stored)
            outputs = AttemptOutputs(task=ready.task, image=ready.image, prepared=ready.prepared)
            if baseline is None:
                yield outputs
            else:
                yield ShownBug(ready=ready, baseline=baseline, outputs=outputs)

    def _baseline(self, ready: PreparedContext, stored: StoredBaseline | None) -> Evidence | None:
        """The evidence of the baseline run; None if it shows a fault of the task."""
        if stored is not None:
            self.stages.add(stored.result)
            if stored.report:  # a script leaves none
                self.stages.save("baseline.json", stored.report)
        else:
            stage = StageName.BASELINE_RUN
            self.stages.run(
                stage, lambda sink: baseline_run(replace(ready, sink=sink, stage=stage))
            )
        result = self.stages.results[-1]
        if baseline_failure(expected_tests(ready.task), result.evidence) is not None:
            return None
        report, key = self._baseline_report(), ready.baseline_key
        if stored is None and not result.evidence.warnings and report is not None and key:
            with log_cache_failure():
                self.resources.cache.keep_baseline(
                    key, StoredBaseline(result=result, report=report)
                )
        return result.evidence

    def _baseline_report(self) -> bytes | None:
        """The report to store with a baseline run; empty for a script, None: store nothing.

        A script's baseline is not stored if it has steps or a named image: the key does not cover
        them, so that a stored result could be out of date.
        """
        folder, verifier = self.slot.folder, self.task.answer_key.verifier
        if (report := folder / "baseline.json").is_file():
            return report.read_bytes()
        if verifier is None or verifier.image is not None or self.task.steps:
            return None
        return None if any(folder.glob("baseline-*")) else b""

    @contextmanager
    def open_endpoint(self, gateway: ModelGateway) -> Iterator[ModelEndpoint]:
        """The model of the run, with the attempt's budget and log."""
        slot = self.slot
        with gateway.open_endpoint(
            budget_usd=self.task.problem.limits.max_cost_usd,
            log=slot.folder / EXCHANGE_LOG,
            lane=f"{self.task.id}/{slot.attempt}",
        ) as endpoint:
            if slot.status is not None:
                slot.status.traffic = endpoint.traffic
            yield endpoint

    def judged(self, state: ShownBug, work: AgentRunOutput | None) -> FinalTestOutput | None:
        """Judge an agent's work; None if there is no change to judge, or the stage failed."""
        if work is None or work.change is None or (work.steps and work.error is not None):
            return None  # with steps, the change may be from a step before the error
        stage, change = StageName.FINAL_TEST, work.change
        return self.stages.run(
            stage,
            lambda sink: final_test(
                replace(state.ready, stage=stage, sink=sink), state.baseline, change, work
            ),
        )

    def record(self, outputs: AttemptOutputs) -> AttemptRecord:
        """The record of the attempt, with its verdict; also writes its trajectory.

        Raises:
            StorageError: the disk has no space for its files.
        """
        slot, resources = self.slot, self.resources
        times = AttemptTimes(
            started_at=self.started_at,
            total=timedelta(seconds=time.monotonic() - self.started),
            queue_wait=timedelta(seconds=self.started - (slot.queued_at or self.started)),
        )
        record = make_record(
            agent=self.agent,
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
                agent=self.agent,
                model=gateway.model,
                session=f"{slot.run_id}/{self.task.id}/{slot.attempt}",
                facts=work.traffic,
            )
        return record
