"""agent_run: the agent works in its own sandbox within its budget; its changes are extracted."""

import asyncio
import inspect
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from threading import Thread

from agentbench.agents.interface import (
    Agent,
    AgentOutcome,
    Budget,
    NeedsMounts,
    WritesFilesOnly,
)
from agentbench.attempt.agent_work import agent_outcome
from agentbench.attempt.agent_work.agent_output import printed_to
from agentbench.attempt.agent_work.agent_sandbox import BoundedSandbox
from agentbench.attempt.agent_work.artifacts import collect_artifacts, read_artifacts
from agentbench.attempt.context import (
    AgentRunOutput,
    Artifacts,
    IncompleteStageError,
    PreparedContext,
)
from agentbench.attempt.logs import EXCHANGE_LOG
from agentbench.attempt.resources import AttemptSlot
from agentbench.attempt.sandboxes import (
    agent_network,
    await_health,
    is_judged_in_place,
    open_agent_sandbox,
    service_warnings,
    watched_services,
)
from agentbench.attempt.settings import stage_timeout
from agentbench.attempt.steps import StepWalk
from agentbench.attempt.timeline.recorder import TimelineRecorder, recording, timeline_mount
from agentbench.core.display_text import Redactor
from agentbench.errors import RunCancelled
from agentbench.integrity.protection import JudgedChange
from agentbench.models.interface import ModelEndpoint, ModelGateway
from agentbench.sandbox.interface import Sandbox, Stream
from agentbench.scoring.evidence import AgentEnding, Evidence, ExceptionFact, Finding
from agentbench.scoring.steps import StepEvidence, combined_work
from agentbench.taxonomy import FailureReason, Fault, StageName

_GRACE = timedelta(seconds=10)  # for an agent in Python to notice that its commands end
_LEAST_GRACE = timedelta(seconds=5)  # a loaded machine takes as long to end a command
_POLL = 0.1  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInputs:
    """The inputs that only agent_run has."""

    agent: Agent
    secrets: frozenset[str] = frozenset()  # of this machine; removed from logs
    slot: AttemptSlot
    gateway: ModelGateway | None = None  # None: the run has no model
    recorder: TimelineRecorder | None = None  # None: no timeline is asked for

    def redactor(self, endpoint: ModelEndpoint | None) -> Redactor:
        """Removes the secrets and the attempt's token from texts."""
        return Redactor(self.secrets if endpoint is None else {*self.secrets, endpoint.token})


def agent_run(context: PreparedContext, inputs: AgentInputs, opened: ExitStack) -> AgentRunOutput:
    """Let the agent work, end its processes, and extract its changes.

    Args:
        context: The inputs.
        inputs: The inputs of this stage only.
        opened: Owns the agent's sandbox, in which the task's script may judge later.

    Raises:
        IncompleteStageError: an error ended it; the output has the agent's work before.
    """
    endpoint, work, is_shared = None, AgentWork(), is_judged_in_place(context.task)
    began: float | None = None
    try:
        context.hidden_tests.check()
        with _endpoint(context, inputs) as endpoint, ExitStack() as watched:
            sandbox = opened.enter_context(_agent_sandbox(context, inputs, endpoint))
            if inputs.recorder is not None:
                has_model = endpoint is not None
                watched.enter_context(recording(inputs.recorder, sandbox, has_model=has_model))
            failures = watched.enter_context(watched_services(context, sandbox))
            await_health(context, sandbox)
            began = time.monotonic()
            if context.task.steps:
                is_shared = _work_in_steps(context, inputs, sandbox, endpoint, work)
            else:
                with agent_network(context, sandbox):
                    solved = _solve(context, inputs, sandbox, endpoint)
                work.evidence, work.outcome = solved.evidence, solved.outcome
                extract_work(context, sandbox, work, inputs.recorder)
        findings = (*work.findings, *agent_outcome.suspicious_findings(context, work.change))
    except (Exception, RunCancelled) as error:
        seconds = work.evidence.own_seconds
        if began is not None and not seconds:  # ended while the agent worked
            seconds = time.monotonic() - began
        part = AgentRunOutput(
            evidence=Evidence(own_seconds=seconds),
            outcome=work.outcome,
            traffic=endpoint.traffic() if endpoint is not None else None,
            change=work.change,
            steps=work.steps,
        )
        raise IncompleteStageError(part) from error
    evidence, traffic = work.evidence, None
    if endpoint is not None:
        endpoint.settle()
        traffic = endpoint.traffic()
        evidence = agent_outcome.with_model(evidence, traffic)
    evidence = evidence.replace(
        findings=(*evidence.findings, *findings), warnings=service_warnings(failures)
    )
    return AgentRunOutput(
        evidence=evidence,
        outcome=work.outcome,
        traffic=traffic,
        change=work.change,
        sandbox=sandbox if is_shared else None,
        artifacts=work.artifacts,
        steps=work.steps,
    )


@contextmanager
def _endpoint(context: PreparedContext, inputs: AgentInputs) -> Iterator[ModelEndpoint | None]:
    if inputs.gateway is None:
        yield None
        return
    slot = inputs.slot
    with inputs.gateway.open_endpoint(
        budget_usd=context.task.problem.limits.max_cost_usd,
        log=slot.folder / EXCHANGE_LOG,
        lane=f"{context.task.id}/{slot.attempt}",
        on_request=inputs.recorder.note if inputs.recorder is not None else None,
    ) as endpoint:
        if slot.status is not None:
            slot.status.traffic = endpoint.traffic
        yield endpoint


@dataclass(slots=True, kw_only=True)
class AgentWork:
    """The agent's work so far."""

    evidence: Evidence = field(default_factory=Evidence)
    outcome: AgentOutcome | None = None  # None also if the agent raised an exception
    change: JudgedChange | None = None
    findings: tuple[Finding, ...] = ()
    artifacts: Artifacts = field(default_factory=dict)
    steps: tuple[StepEvidence, ...] = ()


def extract_work(
    context: PreparedContext,
    sandbox: Sandbox,
    work: AgentWork,
    recorder: TimelineRecorder | None = None,
) -> None:
    """End the agent's processes, and add its change and its artifacts to its work.

    Raises:
        SandboxError: the sandbox is lost, or the agent's files cannot be read.
    """
    with agent_outcome.blamed_on_agent(context):
        collect_artifacts(context, sandbox)
    extracted = agent_outcome.extract_change(context, sandbox)
    if recorder is not None:
        recorder.note_last(extracted.files)
    work.artifacts = read_artifacts(context, sandbox)
    work.change = agent_outcome.judged_change(context, extracted)
    work.findings = extracted.findings


# Let the agent work on each step; returns whether the last one is judged in the sandbox.
def _work_in_steps(
    context: PreparedContext,
    inputs: AgentInputs,
    sandbox: Sandbox,
    endpoint: ModelEndpoint | None,
    work: AgentWork,
) -> bool:
    walk, outcomes = StepWalk(context, sandbox), list[AgentOutcome]()

    def solve(step: PreparedContext) -> Evidence:
        with agent_network(step, sandbox):
            solved = _solve(step, inputs, sandbox, endpoint)
        outcomes.extend(filter(None, [solved.outcome]))
        return solved.evidence

    try:
        walk.run(solve, judges_last=False)
    finally:
        work.steps, work.change, work.findings = tuple(walk.steps), walk.change, walk.findings
        work.artifacts, work.evidence = walk.artifacts, combined_work(walk.steps)
        work.outcome = agent_outcome.combined_outcome(outcomes, work.evidence)
    if walk.needs_sandbox:
        return True
    sandbox.kill()
    return False


def _agent_sandbox(
    context: PreparedContext, inputs: AgentInputs, endpoint: ModelEndpoint | None
) -> AbstractContextManager[Sandbox]:
    agent, mounts = inputs.agent, list(context.runner.mounts())
    if inputs.recorder is not None:
        mounts.append(timeline_mount())
    if endpoint is not None:
        from agentbench.models.gateway.relay import endpoint_mounts

        mounts += endpoint_mounts(endpoint)
    if isinstance(agent, NeedsMounts):
        mounts += agent.mounts(context.provider, context.image)
    writes_files_only = isinstance(agent, WritesFilesOnly) and agent.writes_files_only
    return open_agent_sandbox(context, mounts, plain_workspace=not writes_files_only)


def budget_of(context: PreparedContext) -> Budget:
    """The limits of the task's agent; its time starts now."""
    limits = context.task.problem.limits
    return Budget(
        timeout=stage_timeout(StageName.AGENT_RUN, context.task, context.settings),
        max_steps=limits.max_steps,
        max_cost_usd=limits.max_cost_usd,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _SolvedTask:
    evidence: Evidence
    outcome: AgentOutcome | None  # None: the agent raised an exception


def _solve(
    context: PreparedContext,
    inputs: AgentInputs,
    sandbox: Sandbox,
    endpoint: ModelEndpoint | None,
) -> _SolvedTask:
    task, started = context.task, time.monotonic()
    budget = budget_of(context)
    user = task.environment.user
    env = {**budget.variables(), **task.environment.env}
    bounded = BoundedSandbox(sandbox, budget, context.sink, env, user, recorder=inputs.recorder)
    outcome = _solve_in_thread(context, inputs, bounded, budget, endpoint)
    memory, seconds = task.environment.memory_mib, time.monotonic() - started
    if isinstance(outcome, ExceptionFact):
        evidence = Evidence(exception=outcome, memory_limit_mib=memory, own_seconds=seconds)
        return _SolvedTask(evidence=evidence, outcome=None)
    evidence = Evidence(
        command=outcome.command,
        agent=outcome.ending,
        agent_detail=outcome.detail,
        memory_limit_mib=memory,
        own_seconds=seconds,
    )
    return _SolvedTask(evidence=evidence, outcome=outcome)


# Call the agent in its own thread: Python code that hangs cannot be ended otherwise.
def _solve_in_thread(
    context: PreparedContext,
    inputs: AgentInputs,
    sandbox: BoundedSandbox,
    budget: Budget,
    endpoint: ModelEndpoint | None,
) -> AgentOutcome | ExceptionFact:
    future: Future[AgentOutcome | ExceptionFact] = Future()

    def log_printed(stream: Stream, text: str) -> None:
        redacted = inputs.redactor(endpoint).text(text)
        context.sink(stream, redacted.encode("utf-8", "replace"))

    problem = context.task.problem
    if problem.limits.tell_limits or context.settings.tell_limits:
        instruction = f"{problem.instruction.rstrip()}\n\n{budget.as_text()}\n"
        problem = problem.replace(instruction=instruction)

    def work() -> None:
        try:
            with printed_to(log_printed):
                solved: object = inputs.agent.solve(problem, sandbox, budget, endpoint)
                if inspect.iscoroutine(solved):
                    solved = asyncio.run(solved)
            outcome = agent_outcome.checked_outcome(solved)
            if outcome.detail:
                detail = inputs.redactor(endpoint).text(outcome.detail)
                outcome = replace(outcome, detail=detail)
            future.set_result(in_time(outcome, budget))
        except BaseException as error:  # noqa: BLE001 - an agent may raise anything
            fact = _exception_fact(error, inputs, sandbox, endpoint)
            context.sink(Stream.STDERR, fact.traceback.encode("utf-8", "replace"))
            future.set_result(fact)

    Thread(target=work, name=f"agent-{context.task.id}", daemon=True).start()
    grace = min(_GRACE, max(budget.timeout, _LEAST_GRACE))
    deadline = time.monotonic() + (budget.remaining() + grace).total_seconds()
    while time.monotonic() < deadline:
        wait([future], timeout=_POLL)
        if context.cancel.is_set():
            raise RunCancelled  # also if the agent caught it
        if future.done():
            return future.result()
    detail = f"the agent was still running after {budget.timeout.total_seconds():.0f} s"
    return AgentOutcome(ending=AgentEnding.TIME_LIMIT, detail=detail)


def in_time(outcome: AgentOutcome, budget: Budget) -> AgentOutcome:
    """The outcome of an agent; one that submitted when its time was over has not submitted."""
    if outcome.ending is not AgentEnding.SUBMITTED or budget.remaining():
        return outcome
    detail = f"the agent used up its {budget.timeout.total_seconds():.0f} s"
    return replace(outcome, ending=AgentEnding.TIME_LIMIT, detail=detail)


# The exception that an agent raised; only its name if it cannot be shown.
def _exception_fact(
    error: BaseException,
    inputs: AgentInputs,
    sandbox: BoundedSandbox,
    endpoint: ModelEndpoint | None,
) -> ExceptionFact:
    try:
        return agent_outcome.agent_error(error, sandbox, inputs.redactor(endpoint))
    except BaseException:  # noqa: BLE001 - its own methods may raise too
        name = type(error).__name__
        return ExceptionFact(
            type_name=name,
            message="",
            reason=FailureReason.UNKNOWN,
            fault=Fault.AGENT,
            traceback=f"{name}: an exception that cannot be shown\n",
        )
