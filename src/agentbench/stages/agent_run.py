"""agent_run: the agent works in its own sandbox; then its work is taken out."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import timedelta
from threading import Thread

from agentbench.agents.gateway.behind_relay import door_mounts
from agentbench.agents.interface import AgentOutcome, Budget, NeedsMounts
from agentbench.agents.model_door import ModelDoor
from agentbench.errors import SandboxError
from agentbench.pytest_results.run import reporter_mounts
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.classification import exception_fact
from agentbench.scoring.evidence import AgentEnding, Evidence, ExceptionFact, Finding, StageName
from agentbench.scoring.taxonomy import Fault
from agentbench.stages.agent_outcome import checked_outcome
from agentbench.stages.agent_sandbox import AgentSandbox
from agentbench.stages.blind_controls import plan_ahead
from agentbench.stages.hidden_tests import hidden_files
from agentbench.stages.interface import StageContext
from agentbench.stages.model_evidence import with_model
from agentbench.stages.verification.extraction import Change, ExtractionLimits, read_change
from agentbench.stages.verification.patch_text import render_patch
from agentbench.stages.verification.protection import JudgedChange, Protection, protect
from agentbench.stages.verification.suspicious import suspicious_code

_GRACE = timedelta(seconds=10)  # for an agent in Python to notice that its commands end
_LEAST_GRACE = timedelta(seconds=5)  # a loaded machine takes as long to end a command
_POLL = 0.1  # seconds


def agent_run(context: StageContext) -> Evidence:
    """Let the agent work, end its sandbox, and take out what it changed.

    Raises:
        SandboxError: the sandbox could not be made or is lost.
        KeyboardInterrupt: the run was cancelled.
    """
    plan_ahead(context, hidden_files(context))
    with _door(context) as door, _sandbox(context, door) as sandbox:
        started = time.monotonic()
        evidence = _solve(context, sandbox, door)
        own_seconds = time.monotonic() - started
        change = _take_out(context, sandbox)
    if context.model_facts is not None:
        evidence = with_model(evidence, context.model_facts)
    context.change = _judged(context, change)
    findings = (*evidence.findings, *change.findings, *_suspicious(context, context.change))
    return evidence.model_copy(update={"findings": findings, "own_seconds": own_seconds})


@contextmanager
def _door(context: StageContext) -> Iterator[ModelDoor | None]:
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


def _sandbox(context: StageContext, door: ModelDoor | None) -> AbstractContextManager[Sandbox]:
    """Where the agent works: the prepared state, with the door and the agent's own programs."""
    assert context.prepared is not None  # made by setup
    assert context.image is not None
    mounts = [*reporter_mounts(), *(door_mounts(door) if door is not None else ())]
    if isinstance(context.agent, NeedsMounts):
        mounts += context.agent.mounts(context.provider, context.image)
    return context.provider.open(
        context.prepared.snapshot,
        limits=context.limits,
        network=False,
        mounts=mounts,
        cancel=context.cancel,
    )


def _take_out(context: StageContext, sandbox: Sandbox) -> Change:
    """Read the change out of the ended sandbox; a workspace that is gone is the agent's doing."""
    prepared = context.prepared
    assert prepared is not None
    try:
        sandbox.kill()
        with sandbox.read_tree(sandbox.workspace) as chunks:
            return read_change(chunks, prepared.base, prepared.content, _extracted(context))
    except SandboxError as error:
        if _still_opens(context):
            error.fault = Fault.AGENT.value
        raise


def _extracted(context: StageContext) -> ExtractionLimits:
    """How much is read: twice what the disk may hold, and the names of so many files."""
    limits = context.limits
    return ExtractionLimits(stream_bytes=(2 * limits.disk_mib << 20) + 2048 * limits.files)


def _still_opens(context: StageContext) -> bool:
    """Whether the back end still works: then it was not the infrastructure that failed."""
    assert context.prepared is not None
    try:
        with context.provider.open(
            context.prepared.snapshot, limits=context.limits, network=False
        ) as fresh:
            return fresh.run(Command(argv=("true",), timeout=_GRACE)).ok
    except SandboxError:
        return False


def _solve(context: StageContext, sandbox: Sandbox, door: ModelDoor | None) -> Evidence:
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
    context: StageContext, sandbox: AgentSandbox, budget: Budget, door: ModelDoor | None
) -> AgentOutcome | ExceptionFact:
    """Call the agent in a thread of its own: Python code that hangs cannot be ended otherwise."""
    future: Future[AgentOutcome] = Future()

    def work() -> None:
        try:
            agent = context.agent
            outcome = agent.solve(context.task.problem, sandbox, budget, door)
            future.set_result(_in_time(checked_outcome(outcome), budget))
        except BaseException as error:  # noqa: BLE001 - somebody's agent may raise anything
            future.set_exception(error)

    Thread(target=work, name=f"agent-{context.task.id}", daemon=True).start()
    deadline = time.monotonic() + (budget.remaining() + _grace(budget)).total_seconds()
    while time.monotonic() < deadline:
        wait([future], timeout=_POLL)
        if context.cancel.is_set():
            raise KeyboardInterrupt  # also where the agent swallowed it
        if future.done():
            error = future.exception()
            return _exception_of(error) if error is not None else future.result()
    detail = f"the agent was still running after {budget.timeout.total_seconds():.0f} s"
    return AgentOutcome(ending=AgentEnding.TIME_LIMIT, detail=detail)


def _grace(budget: Budget) -> timedelta:
    return min(_GRACE, max(budget.timeout, _LEAST_GRACE))


def _in_time(outcome: AgentOutcome, budget: Budget) -> AgentOutcome:
    if outcome.ending is not AgentEnding.SUBMITTED or budget.remaining():
        return outcome
    detail = f"the agent used up its {budget.timeout.total_seconds():.0f} s"
    return replace(outcome, ending=AgentEnding.TIME_LIMIT, detail=detail)


def _exception_of(error: BaseException) -> ExceptionFact:
    fact = exception_fact(StageName.AGENT_RUN, error)
    if isinstance(error, KeyboardInterrupt):
        return fact.model_copy(update={"fault": "agent"})  # not our Ctrl-C: its own doing
    return fact


def _suspicious(context: StageContext, change: JudgedChange) -> Iterator[Finding]:
    """Code that cheats need, as information for a reader: honest code may need it, too."""
    assert context.prepared is not None
    for path, file in change.files.items():
        if file is not None:
            before = context.prepared.content(path)
            yield from suspicious_code(path.as_posix(), before, file.content)


def _judged(context: StageContext, change: Change) -> JudgedChange:
    prepared, task = context.prepared, context.task
    assert prepared is not None
    listed = (node_id.partition("::")[0] for node_id in task.answer_key.fail_to_pass)
    protection = Protection(
        test_paths=(*task.problem.test_paths, *listed),
        patterns=task.answer_key.protected,
        hidden=frozenset(hidden_files(context)),
    )
    judged = protect(change, protection, prepared.base, prepared.content)
    context.save("patch.diff", render_patch(judged.files, prepared.content))
    if judged.dropped:
        context.save("patch.raw.diff", render_patch(change.files, prepared.content))
    return judged
