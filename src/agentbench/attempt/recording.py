"""Creates an attempt's record from the results of its stages, or without them if it is lost."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from pathlib import Path

from agentbench.agents.interface import Agent, AgentOutcome
from agentbench.attempt import record
from agentbench.attempt.context import AgentRunOutput, AttemptOutputs, limits_of
from agentbench.attempt.expected_tests import expected_tests
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.settings import RunSettings, stage_timeout
from agentbench.attempt.task_image import image_of
from agentbench.core.network import Network
from agentbench.integrity.protection import JudgedChange
from agentbench.models.interface import ModelTraffic
from agentbench.sandbox.interface import Promise, SandboxProvider
from agentbench.sandbox.python_stacks import installers_of, python_of_base_image
from agentbench.sandbox.registry import promises_of
from agentbench.scoring.classification import exception_fact
from agentbench.scoring.evidence import CommandResult, Evidence, StageResult
from agentbench.scoring.steps import StepEvidence
from agentbench.scoring.verdict import judge
from agentbench.tasks.steps import STEPS_FOLDER
from agentbench.tasks.task import Task
from agentbench.taxonomy import StageName

_COMMAND_FACTS = record.StageRecord.model_fields.keys() & CommandResult.model_fields.keys()
_STORED_OUTPUT = 4_096  # characters of each stream of a deciding command; the log has the rest
_UNKNOWN_STAGE = StageName.GIT_CLONE  # since the stage that the attempt reached is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptTimes:
    """When an attempt began, and how long it took."""

    started_at: datetime
    total: timedelta = timedelta(0)
    queue_wait: timedelta = timedelta(0)


def make_record(
    *,
    agent: Agent,
    resources: RunResources,
    slot: AttemptSlot,
    times: AttemptTimes,
    outputs: AttemptOutputs,
) -> record.AttemptRecord:
    """Judge an attempt by the evidence of its stages, and record it."""
    task, folder, gateway = outputs.task, slot.folder, resources.gateway
    expected = expected_tests(task)
    results, final = outputs.results, outputs.final_test
    work = outputs.agent_run or AgentRunOutput(evidence=Evidence())
    patch = _patch_record(work.change, folder)
    verdict = record.with_dropped_files(judge(expected, results), patch)
    controls_seconds = final.controls_seconds if final is not None else 0.0
    return record.AttemptRecord(
        run_id=slot.run_id,
        task_id=task.id,
        attempt=slot.attempt,
        retry_of=slot.retry_of,
        agent=agent.name,
        model=gateway.model if gateway is not None else None,
        task_digest=task.digest,
        started_at=times.started_at,
        **dict(verdict),
        expected=expected,
        stages=tuple(_stage_record(each, task, resources.settings, folder) for each in results),
        rewards=_rewards(results),
        steps=tuple(_step_records(task, (final or work).steps or work.steps, folder)),
        findings=tuple(f for result in results for f in result.evidence.findings),
        warnings=tuple(w for result in results for w in result.evidence.warnings),
        controls=final.controls if final is not None else None,
        patch=patch,
        agent_run=_agent_record(work.outcome),
        usage=_usage_record(work.traffic, work.outcome),
        timing=_timing(times, results, controls_seconds),
        environment=_environment(task, resources.provider, outputs),
    )


def shortened(evidence: Evidence) -> Evidence:
    """Evidence with only the end of its output, to be judged.

    The record stores the same, so that judging it again gives the same verdict.
    """
    command, exception = evidence.command, evidence.exception
    if command is not None:
        stdout, stderr = command.stdout[-_STORED_OUTPUT:], command.stderr[-_STORED_OUTPUT:]
        command = command.replace(stdout=stdout, stderr=stderr)
    if exception is not None:
        text = exception.message.encode("utf-8", "replace").decode()
        traceback = exception.traceback[-_STORED_OUTPUT:]
        exception = exception.replace(message=text[:_STORED_OUTPUT], traceback=traceback)
    return evidence.replace(command=command, exception=exception)


def _rewards(results: Sequence[StageResult]) -> dict[str, float] | None:
    facts = next((r.evidence.rewards for r in results if r.stage is StageName.FINAL_TEST), None)
    return dict(facts.rewards) if facts is not None else None


def _step_records(
    task: Task, steps: Sequence[StepEvidence], folder: Path
) -> Iterator[record.TaskStepRecord]:
    for step, found in zip_longest(task.steps, steps):
        facts = found or StepEvidence(name=step.name)
        agent, verifier = facts.agent or Evidence(), facts.verifier or Evidence()
        path = f"{STEPS_FOLDER}/{step.name}/evidence.json"
        yield record.TaskStepRecord(
            name=step.name,
            ran=found is not None,
            rewards=dict(facts.rewards) if facts.rewards is not None else None,
            fault=facts.fault if found is not None else "",
            shortfall=(facts.shortfall or "") if facts.rewards is not None else "",
            agent=agent.agent,
            agent_detail=agent.exception.message if agent.exception else agent.agent_detail,
            agent_s=agent.own_seconds,
            verifier_s=verifier.own_seconds,
            user=step.user,
            verifier_user=step.verifier.user,
            verifier_environment=step.verifier.environment,
            network=step.network,
            verifier_network=step.verifier.network,
            evidence=path if (folder / path).is_file() else None,
        )


def _stage_record(
    result: StageResult, task: Task, settings: RunSettings, folder: Path
) -> record.StageRecord:
    command = result.evidence.command
    log = f"stages/{result.stage}.log"
    return record.StageRecord(
        name=result.stage,
        started_at=result.started_at,
        duration_s=result.duration.total_seconds(),
        cached=result.cached,
        **(command.model_dump(include=_COMMAND_FACTS) if command else {}),
        timeout_s=stage_timeout(result.stage, task, settings).total_seconds(),
        log=log if (folder / log).is_file() else None,
        evidence=result.evidence,
    )


def _agent_record(outcome: AgentOutcome | None) -> record.AgentRecord | None:
    if outcome is None:
        return None
    return record.AgentRecord.model_validate(outcome, from_attributes=True)


def _patch_record(change: JudgedChange | None, folder: Path) -> record.PatchRecord | None:
    path = folder / "patch.diff"
    if change is None or not path.is_file():
        return None
    content = path.read_bytes()
    lines = content.splitlines()
    return record.PatchRecord(
        path="patch.diff",
        sha256=hashlib.sha256(content).hexdigest(),
        files=len(change.files),
        insertions=_count(lines, b"+", b"+++ "),
        deletions=_count(lines, b"-", b"--- "),
        dropped=change.dropped,
        tool_caches=change.tool_caches,
    )


def _count(lines: Iterable[bytes], sign: bytes, header: bytes) -> int:
    return sum(line.startswith(sign) and not line.startswith(header) for line in lines)


def _usage_record(
    traffic: ModelTraffic | None, outcome: AgentOutcome | None
) -> record.UsageRecord | None:
    """The usage that the model endpoint counted; without an endpoint, as the agent reports it."""
    if traffic is not None:
        errors = {kind.value: count for kind, count in traffic.errors.items()}
        return record.UsageRecord(**asdict(traffic.usage), llm_errors=errors)
    return record.UsageRecord(**asdict(outcome.usage)) if outcome and outcome.usage else None


def _timing(
    times: AttemptTimes, results: Sequence[StageResult], controls_seconds: float
) -> record.TimingRecord:
    own = {result.stage: result.evidence.own_seconds for result in results}
    agent = own.get(StageName.AGENT_RUN, 0.0)
    tests = own.get(StageName.BASELINE_RUN, 0.0) + own.get(StageName.FINAL_TEST, 0.0)
    setup = own.get(StageName.SETUP, 0.0)
    total = times.total.total_seconds()
    return record.TimingRecord(
        total_s=total,
        agent_s=agent,
        tests_s=tests,
        setup_s=setup,
        controls_s=controls_seconds,
        overhead_s=max(total - agent - tests - setup - controls_seconds, 0.0),
        queue_wait_s=times.queue_wait.total_seconds(),
    )


def _environment(
    task: Task, provider: SandboxProvider, outputs: AttemptOutputs
) -> record.EnvironmentRecord:
    limits, image = limits_of(task), image_of(task, provider)
    kept = promises_of(provider, limits.runtime)
    verifier = None if task.steps else task.answer_key.verifier  # each step has its own verifier
    return record.EnvironmentRecord(
        sandbox=provider.name,
        facts=dict(provider.describe()),
        lacks=tuple(promise.value for promise in Promise if promise not in kept),
        image=outputs.image,
        image_name=image.name,
        python=_python_that_ran(outputs.results) or image.python,
        installers=_installers(task, image.name),
        snapshot=outputs.prepared.snapshot if outputs.prepared else None,
        cpus=limits.cpus,
        memory_mib=limits.memory_mib,
        pids=limits.pids,
        disk_mib=limits.disk_mib,
        files=limits.files,
        network=_networks(task),
        user=limits.user,
        runtime=limits.runtime,
        verifier_user=verifier.user if verifier is not None else None,
        verifier_environment=verifier.environment if verifier is not None else None,
    )


def _installers(task: Task, image: str | None) -> tuple[str, ...]:
    python = python_of_base_image(image) if image is not None else None
    pins = installers_of(python) if python is not None else ()
    own = task.environment.pip
    return tuple(f"pip=={own}" if own and pin.startswith("pip==") else pin for pin in pins)


def _networks(task: Task) -> dict[StageName, Network]:
    verifier = task.answer_key.verifier
    judged_with = verifier.network if verifier is not None else False
    setup = {StageName.SETUP: task.setup.network if task.setup.all_commands else False}
    if task.steps:  # each step has its own network
        return setup
    return {
        **setup,
        StageName.BASELINE_RUN: judged_with,
        StageName.AGENT_RUN: task.problem.network,
        StageName.FINAL_TEST: judged_with,
    }


def _python_that_ran(results: Sequence[StageResult]) -> str | None:
    """The Python of the baseline run, which no agent can falsify."""
    reports = (r.evidence.report for r in results if r.stage is StageName.BASELINE_RUN)
    return next((report.python for report in reports if report is not None), None)


def excluded_record(
    task: Task, agent: Agent, resources: RunResources, slot: AttemptSlot, error: BaseException
) -> record.AttemptRecord:
    """The record of a try on another machine that did not return.

    Args:
        task: The task.
        agent: The agent.
        resources: The resources of the run on this machine.
        slot: Its folder, and the number of the try.
        error: Why it did not return: a lost node, or the end of the run.
    """
    now = datetime.now(UTC)
    result = StageResult(
        stage=_UNKNOWN_STAGE,
        evidence=Evidence(exception=exception_fact(_UNKNOWN_STAGE, error)),
        started_at=now,
        duration=timedelta(0),
    )
    return make_record(
        agent=agent,
        resources=resources,
        slot=slot,
        times=AttemptTimes(started_at=now),
        outputs=AttemptOutputs(task=task, results=(result,)),
    )
