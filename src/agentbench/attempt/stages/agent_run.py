"""agent_run: the agent works in its own sandbox within its budget.

Then what it changed is extracted.
"""

import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

from agentbench.agents.interface import AgentOutcome, Budget, NeedsMounts
from agentbench.attempt.context import StageContext
from agentbench.attempt.stages.agent_outcome import checked_outcome, with_model
from agentbench.attempt.stages.agent_sandbox import AgentSandbox
from agentbench.attempt.stages.fresh_sandboxes import PreopenedSandbox, preopen_sandbox
from agentbench.attempt.stages.judged_tests import hidden_files
from agentbench.errors import RunCancelled
from agentbench.models.interface import ModelEndpoint
from agentbench.pytest_results.command import reporter_mounts
from agentbench.sandbox.interface import Sandbox, Stream
from agentbench.scoring.evidence import AgentEnding, Evidence, ExceptionFact
from agentbench.scoring.taxonomy import FailureReason, Fault

if TYPE_CHECKING:
    from agentbench.core.redaction import Redactor

_GRACE = timedelta(seconds=10)  # for an agent in Python to notice that its commands end
_LEAST_GRACE = timedelta(seconds=5)  # a loaded machine takes as long to end a command
_POLL = 0.1  # seconds


def agent_run(context: StageContext) -> Evidence:
    """Let the agent work, end its sandbox, and take out what it changed.

    Raises:
        SandboxError: the sandbox could not be made or is lost.
        RunCancelled: the run was cancelled.
    """
    hidden = hidden_files(context)
    with _model_endpoint(context) as door, _agent_sandbox(context, door) as begun:
        context.final_ahead = preopen_sandbox(context)
        # Imported, and the blind runs planned, while an engine makes the sandboxes.
        from agentbench.attempt.stages.agent_changes import (
            extract_change,
            judged_change,
            suspicious_findings,
        )
        from agentbench.attempt.stages.control_runs import plan_control_runs

        plan_control_runs(context, hidden)
        with begun.taken() as sandbox:
            started = time.monotonic()
            evidence = _solve(context, sandbox, door)
            own_seconds = time.monotonic() - started
            change = extract_change(context, sandbox)
    if context.model_facts is not None:
        evidence = with_model(evidence, context.model_facts)
    context.change = judged_change(context, change)
    findings = (*evidence.findings, *change.findings, *suspicious_findings(context, context.change))
    return evidence.model_copy(update={"findings": findings, "own_seconds": own_seconds})


@contextmanager
def _model_endpoint(context: StageContext) -> Iterator[ModelEndpoint | None]:
    """The attempt's door, if it has one; what passed is known when its streams are cut."""
    if context.open_door is None:
        yield None
        return
    door = None
    try:
        with context.open_door() as door:
            yield door
    finally:
        context.model_facts = door.facts() if door is not None else None


@contextmanager
def _agent_sandbox(context: StageContext, door: ModelEndpoint | None) -> Iterator[PreopenedSandbox]:
    """Where the agent works: the prepared state, with the door and the agent's own programs."""
    assert context.image is not None
    mounts = list(reporter_mounts())
    if door is not None:
        from agentbench.models.gateway.relay import endpoint_mounts

        mounts += endpoint_mounts(door)
    if isinstance(context.agent, NeedsMounts):
        mounts += context.agent.mounts(context.provider, context.image)
    begun = PreopenedSandbox(context, mounts)
    try:
        yield begun
    finally:
        begun.close()


def _solve(context: StageContext, sandbox: Sandbox, door: ModelEndpoint | None) -> Evidence:
    limits = context.task.problem.limits
    budget = Budget(
        timeout=context.scaled(limits.timeout_s),
        max_steps=limits.max_steps,
        max_cost_usd=limits.max_cost_usd,
    )
    env = context.task.environment.env
    bounded = AgentSandbox(sandbox, budget, context.sink, env)
    outcome = _in_thread(context, bounded, budget, door)
    memory = context.task.environment.memory_mib
    if isinstance(outcome, ExceptionFact):
        return Evidence(exception=outcome, memory_limit_mib=memory)
    context.outcome = outcome
    return Evidence(
        command=outcome.command,
        agent=outcome.ending,
        agent_detail=outcome.detail,
        memory_limit_mib=memory,
    )


def _in_thread(
    context: StageContext, sandbox: AgentSandbox, budget: Budget, door: ModelEndpoint | None
) -> AgentOutcome | ExceptionFact:
    """Call the agent in a thread of its own: Python code that hangs cannot be ended otherwise."""
    future: Future[AgentOutcome | ExceptionFact] = Future()
    sink = context.sink  # that of this stage: an agent that was given up may end in a later one

    def work() -> None:
        try:
            agent = context.agent
            outcome = checked_outcome(agent.solve(context.task.problem, sandbox, budget, door))
            if outcome.detail:
                detail = _redactor(context, door).text(outcome.detail)
                outcome = replace(outcome, detail=detail)
            future.set_result(_in_time(outcome, budget))
        except BaseException as error:  # noqa: BLE001 - somebody's agent may raise anything
            fact = _exception_fact(error, context, sandbox, door)
            sink(Stream.STDERR, fact.traceback.encode("utf-8", "replace"))
            future.set_result(fact)

    Thread(target=work, name=f"agent-{context.task.id}", daemon=True).start()
    import_module("agentbench.attempt.stages.judging")  # which comes next, while the agent works
    deadline = time.monotonic() + (budget.remaining() + _grace(budget)).total_seconds()
    while time.monotonic() < deadline:
        wait([future], timeout=_POLL)
        if context.cancel.is_set():
            raise RunCancelled  # also where the agent swallowed it
        if future.done():
            return future.result()
    detail = f"the agent was still running after {budget.timeout.total_seconds():.0f} s"
    return AgentOutcome(ending=AgentEnding.TIME_LIMIT, detail=detail)


def _grace(budget: Budget) -> timedelta:
    return min(_GRACE, max(budget.timeout, _LEAST_GRACE))


def _in_time(outcome: AgentOutcome, budget: Budget) -> AgentOutcome:
    if outcome.ending is not AgentEnding.SUBMITTED or budget.remaining():
        return outcome
    detail = f"the agent used up its {budget.timeout.total_seconds():.0f} s"
    return replace(outcome, ending=AgentEnding.TIME_LIMIT, detail=detail)


def _exception_fact(
    error: BaseException, context: StageContext, sandbox: AgentSandbox, door: ModelEndpoint | None
) -> ExceptionFact:
    """What an agent raised; where it cannot even be shown, its name."""
    from agentbench.attempt.stages.agent_outcome import agent_error

    try:
        return agent_error(error, sandbox, _redactor(context, door))
    except BaseException:  # noqa: BLE001 - its own methods may raise, too
        name = type(error).__name__
        return ExceptionFact(
            type_name=name,
            message="",
            reason=FailureReason.UNKNOWN.value,
            fault=Fault.AGENT.value,
            traceback=f"{name}: an exception that cannot be shown\n",
        )


def _redactor(context: StageContext, door: ModelEndpoint | None) -> "Redactor":
    """Removes what the harness knows as a secret in this attempt."""
    from agentbench.core.redaction import Redactor

    return Redactor(context.secrets if door is None else {*context.secrets, door.token})
