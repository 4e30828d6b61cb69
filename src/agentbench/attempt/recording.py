"""Makes the record of an attempt from the results of its stages, even if its process is gone."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agentbench.agents.interface import Agent
from agentbench.attempt.context import StageContext
from agentbench.attempt.pipeline import PIPELINE
from agentbench.attempt.preparation_cache import PreparedTask
from agentbench.attempt.record import (
    AgentRecord,
    AttemptRecord,
    EnvironmentRecord,
    PatchRecord,
    RunId,
    StageRecord,
    TimingRecord,
    UsageRecord,
)
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.stages.judged_tests import expected_tests
from agentbench.attempt.task_image import image_of
from agentbench.models.interface import ModelTraffic, ModelUsage
from agentbench.sandbox.interface import Promise, Stream
from agentbench.scoring.classification import exception_fact
from agentbench.scoring.evidence import Evidence, StageResult
from agentbench.scoring.taxonomy import StageName
from agentbench.scoring.verdict import Verdict, judge
from agentbench.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptIdentity:
    """Which attempt it is, of whom, and how long it took."""

    run_id: RunId
    attempt: int
    retry_of: int | None
    agent: str
    model: str | None
    started_at: datetime
    total: timedelta
    queue_wait: timedelta


def make_record(
    *,
    identity: AttemptIdentity,
    context: StageContext,
    results: Sequence[StageResult],
    verdict: Verdict,
    folder: Path,
) -> AttemptRecord:
    """Put together everything that is known of an attempt."""
    task, outcome = context.task, context.outcome
    return AttemptRecord(
        run_id=identity.run_id,
        task_id=task.id,
        attempt=identity.attempt,
        retry_of=identity.retry_of,
        agent=identity.agent,
        model=identity.model,
        task_digest=task.digest,
        started_at=identity.started_at,
        resolved=verdict.resolved,
        quarantined=verdict.quarantined,
        failure_reason=verdict.failure_reason,
        fault=verdict.fault,
        detail=verdict.detail,
        failures=verdict.failures,
        expected=expected_tests(task),
        stages=tuple(_stage_record(result, context, folder) for result in results),
        tests=verdict.tests,
        counts=verdict.counts,
        rewards=_rewards(results),
        findings=tuple(f for result in results for f in result.evidence.findings),
        warnings=tuple(w for result in results for w in result.evidence.warnings),
        controls=context.controls,
        patch=_patch_record(context, folder),
        agent_run=AgentRecord.of(outcome) if outcome else None,
        usage=_usage_record(context),
        timing=_timing(identity, context, results),
        environment=_environment(context, results),
    )


def _rewards(results: Sequence[StageResult]) -> dict[str, float] | None:
    final = (r.evidence.rewards for r in results if r.stage is StageName.FINAL_TEST)
    facts = next(final, None)
    return dict(facts.rewards) if facts is not None else None


def _stage_record(result: StageResult, context: StageContext, folder: Path) -> StageRecord:
    command = result.evidence.command
    log = f"stages/{result.stage}.log"
    timeouts = {stage.name: stage.timeout for stage in PIPELINE}
    return StageRecord(
        name=result.stage,
        started_at=result.started_at,
        duration_s=result.duration.total_seconds(),
        cached=result.cached,
        ending=command.ending if command else None,
        exit_code=command.exit_code if command else None,
        signal=command.signal if command else None,
        output_bytes=command.output_bytes if command else 0,
        truncated=command.truncated if command else False,
        peak_memory_bytes=command.peak_memory_bytes if command else None,
        cpu_seconds=command.cpu_seconds if command else None,
        timeout_s=timeouts[result.stage](context).total_seconds(),
        log=log if (folder / log).is_file() else None,
        evidence=result.evidence,
    )


def _patch_record(context: StageContext, folder: Path) -> PatchRecord | None:
    path = folder / "patch.diff"
    if context.change is None or not path.is_file():
        return None
    content = path.read_bytes()
    lines = content.splitlines()
    return PatchRecord(
        path="patch.diff",
        sha256=hashlib.sha256(content).hexdigest(),
        files=len(context.change.files),
        insertions=_count(lines, b"+", b"+++ "),
        deletions=_count(lines, b"-", b"--- "),
        dropped=context.change.dropped,
        tool_caches=context.change.tool_caches,
    )


def _count(lines: Iterable[bytes], sign: bytes, header: bytes) -> int:
    return sum(line.startswith(sign) and not line.startswith(header) for line in lines)


def _usage_record(context: StageContext) -> UsageRecord | None:
    """What passed through the door; where there was none, what the agent says of itself."""
    facts = context.model_facts
    if facts is not None:
        return _usage_of(facts.usage, facts)
    outcome = context.outcome
    return _usage_of(outcome.usage, ModelTraffic()) if outcome and outcome.usage else None


def _usage_of(usage: ModelUsage, facts: ModelTraffic) -> UsageRecord:
    return UsageRecord(
        requests=usage.requests,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        cost_usd=usage.cost_usd,
        llm_errors={kind.value: count for kind, count in facts.errors.items()},
    )


def _timing(
    identity: AttemptIdentity, context: StageContext, results: Sequence[StageResult]
) -> TimingRecord:
    own = {result.stage: result.evidence.own_seconds for result in results}
    agent = own.get(StageName.AGENT_RUN, 0.0)
    tests = own.get(StageName.BASELINE_RUN, 0.0) + own.get(StageName.FINAL_TEST, 0.0)
    setup = own.get(StageName.SETUP, 0.0)
    total = identity.total.total_seconds()
    return TimingRecord(
        total_s=total,
        agent_s=agent,
        tests_s=tests,
        setup_s=setup,
        controls_s=context.controls_seconds,
        overhead_s=max(total - agent - tests - setup - context.controls_seconds, 0.0),
        queue_wait_s=identity.queue_wait.total_seconds(),
    )


def _environment(context: StageContext, results: Sequence[StageResult]) -> EnvironmentRecord:
    provider, limits = context.provider, context.limits
    image = image_of(context.task, provider)
    return EnvironmentRecord(
        sandbox=provider.name,
        facts=dict(provider.describe()),
        lacks=tuple(promise.value for promise in Promise if promise not in provider.promises),
        image=context.image,
        image_name=image.name,
        python=_python_that_ran(results) or image.python,
        snapshot=context.prepared.snapshot if context.prepared else None,
        cpus=limits.cpus,
        memory_mib=limits.memory_mib,
        pids=limits.pids,
        disk_mib=limits.disk_mib,
        files=limits.files,
    )


def _python_that_ran(results: Sequence[StageResult]) -> str | None:
    """The Python of the baseline run: no agent had a say in what that told."""
    told = (r.evidence.report for r in results if r.stage is StageName.BASELINE_RUN)
    return next((report.python for report in told if report is not None), None)


_UNKNOWN_STAGE = StageName.GIT_CLONE  # how far it had come is not known


def excluded_record(
    task: Task,
    agent: Agent,
    workshop: RunResources,
    place: AttemptSlot,
    fault: BaseException,
) -> AttemptRecord:
    """Judge a try of which nothing came back.

    Args:
        task: What was attempted.
        agent: Whose attempt it was.
        workshop: Of the run, which may be on another machine than the attempt was.
        place: Its folder, and which try it was.
        fault: What became of its maker: a lost sandbox, or our own Ctrl-C.
    """
    now = datetime.now(UTC)
    result = StageResult(
        stage=_UNKNOWN_STAGE,
        evidence=Evidence(exception=exception_fact(_UNKNOWN_STAGE, fault)),
        started_at=now,
        duration=timedelta(0),
    )
    context = StageContext(
        task=task,
        agent=agent,
        provider=workshop.provider,
        mirrors=workshop.mirrors,
        cancel=workshop.cancel,
        timeout_scale=workshop.timeout_scale,
        sink=_nowhere,
        save=_unsaved,
        keep_snapshot=_unkept,
    )
    identity = AttemptIdentity(
        run_id=place.run_id,
        attempt=place.attempt,
        retry_of=place.retry_of,
        agent=agent.name,
        model=None,
        started_at=now,
        total=timedelta(0),
        queue_wait=timedelta(0),
    )
    return make_record(
        identity=identity,
        context=context,
        results=[result],
        verdict=judge(expected_tests(task), [result]),
        folder=place.folder,
    )


def _nowhere(_stream: Stream, _chunk: bytes) -> None:
    pass


def _unsaved(_name: str, _content: bytes) -> None:
    pass


def _unkept(_context: StageContext) -> PreparedTask:
    raise AssertionError  # pragma: no cover - no stage runs
