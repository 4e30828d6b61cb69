"""How the stages open sandboxes: with the services and the network of their task.

Every stage has fresh services. A service that fails before the agent works is the task's fault,
unless something outside has killed it. Later the failure is a warning: the tests decide, and their
sandbox has services of its own. A final test that fails with a service is run once more.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta

from agentbench.attempt.context import PreparedContext, StageContext
from agentbench.errors import SandboxError, ServiceError
from agentbench.sandbox.egress.plan import NO_NETWORK, NetworkPlan, open_with_network
from agentbench.sandbox.interface import (
    ORDINARY_USE,
    Command,
    HasServices,
    ImageId,
    LastingSandbox,
    Limits,
    LogsNetwork,
    ReadOnlyMount,
    Sandbox,
    SandboxUse,
    ServiceReport,
    SnapshotId,
)
from agentbench.scoring.evidence import Ending
from agentbench.tasks.task import Task
from agentbench.taxonomy import Fault


@contextmanager
def open_sandbox(
    context: StageContext,
    source: ImageId | SnapshotId,
    *,
    limits: Limits | None = None,
    network: NetworkPlan = NO_NETWORK,
    mounts: Sequence[ReadOnlyMount] = (),
    use: SandboxUse = ORDINARY_USE,
) -> Iterator[Sandbox]:
    """A fresh sandbox with fresh services; saves the services' logs if one does not start."""
    use = replace(use, services=context.services, changes_network=network.changes)

    def opened(additional: Sequence[ReadOnlyMount]) -> AbstractContextManager[Sandbox]:
        return context.provider.open(
            source,
            limits=limits or context.limits,
            network=network.first is True,
            mounts=tuple(dict.fromkeys((*mounts, *additional))),  # both may contain the relay
            cancel=context.cancel,
            use=use,
        )

    try:
        with open_with_network(opened, network, lasting=use.lasting) as sandbox:
            yield sandbox
            if not use.lasting:  # a lasting one belongs to two stages
                _save_network_log(context, sandbox)
    except ServiceError as error:
        _save_logs(context, error.logs)
        raise


def is_judged_in_place(task: Task) -> bool:
    """Whether the task's script judges in the agent's own sandbox."""
    verifier = task.answer_key.verifier
    return verifier is not None and verifier.is_shared


def open_agent_sandbox(
    context: PreparedContext, mounts: Sequence[ReadOnlyMount], *, plain_workspace: bool
) -> AbstractContextManager[Sandbox]:
    """The sandbox of an agent, in which the task's script may judge later.

    Raises:
        SandboxError: it could not be created.
    """
    task = context.task
    single = task.answer_key.verifier
    judges = [step.verifier for step in task.steps] or ([single] if single is not None else [])
    agents = [step.network for step in task.steps] or [task.problem.network]
    here = [judge.network for judge in judges if judge.is_shared]
    return open_sandbox(
        context,
        context.prepared.snapshot,
        limits=replace(context.limits, user=task.agent_sandbox_user),
        network=NetworkPlan(first=task.environment.network, later=(*agents, *here)),
        mounts=mounts,
        use=replace(context.use, plain_workspace=plain_workspace),
    )


@contextmanager
def open_test_sandbox(context: PreparedContext) -> Iterator[Sandbox]:
    """A fresh sandbox for one judged run of the tests; it is removed in the background."""
    # Only without a cache is the snapshot removed before the run ends.
    use = SandboxUse(brief=context.settings.use_cache)
    with ExitStack() as keep:
        yield keep.enter_context(
            open_sandbox(
                context, context.prepared.snapshot, mounts=context.runner.mounts(), use=use
            )
        )
        context.background.remove(keep.pop_all().close)


@contextmanager
def agent_network(context: StageContext, sandbox: Sandbox) -> Iterator[None]:
    """The agent's own network during the block, if it differs from that of its environment.

    Raises:
        SandboxError: the sandbox is lost.
    """
    usual, own = context.task.environment.network, context.task.problem.network
    if usual == own:
        yield
        return
    assert isinstance(sandbox, LastingSandbox)  # a container's, or one with a proxy
    # Not restored after an error: the sandbox is removed then.
    sandbox.set_network(own)
    yield
    sandbox.set_network(usual)


@contextmanager
def watched_services(context: StageContext, sandbox: Sandbox) -> Iterator[list[ServiceReport]]:
    """A list of the services that failed in the block, filled at the block's end; saves all logs.

    Raises:
        SandboxError: the engine is lost.
    """
    failures: list[ServiceReport] = []
    try:
        yield failures
    except BaseException:
        with suppress(SandboxError):  # report the first error
            _save_reports(context, sandbox)
        raise
    failures += _save_reports(context, sandbox)


def require_services(context: StageContext, failures: Sequence[ServiceReport]) -> None:
    """Check that no service has failed, before an agent works."""
    if failures:
        what = "; ".join(service_warnings(failures))
        error = ServiceError(f"{context.task.environment.compose}: {what}")
        is_killed = any(each.killed for each in failures)
        raise error.blamed_on(Fault.INFRASTRUCTURE) if is_killed else error


def service_warnings(failures: Sequence[ServiceReport]) -> tuple[str, ...]:
    """The warnings of a record about services that failed."""
    return tuple(f"service {each.name} {each.failure}" for each in failures)


def await_health(context: PreparedContext, sandbox: Sandbox) -> None:
    """Wait until the environment is healthy.

    Raises:
        SandboxError: it does not become healthy, which is the task's fault.
    """
    error = health_error(context, sandbox)
    if error is not None:
        raise error


def health_error(context: PreparedContext, sandbox: Sandbox) -> SandboxError | None:
    """Repeat the task's health check until it succeeds; without a check, return at once.

    The rules are Harbor's: failures within the start period do not count, and a check that exceeds
    its own time limit ends the wait at once.

    Returns:
        The error that the environment does not become healthy, which is the task's fault.
    """
    check = context.task.environment.healthcheck
    if check is None:
        return None
    command = Command(
        argv=("sh", "-c", check.command),
        timeout=timedelta(seconds=check.timeout_s),
        env=context.task.environment.env,
        sink=context.sink,
        user=context.task.environment.user if context.task.problem.step is not None else None,
    )
    started, failures = time.monotonic(), 0
    while not context.cancel.is_set():
        result = sandbox.run(command)
        if result.ok:
            return None
        is_starting = time.monotonic() - started < check.start_period_s
        failures = 0 if is_starting else failures + 1
        if failures >= check.retries or result.ending is Ending.TIMED_OUT:
            how = (
                f"failed {failures} times in a row, the last time with exit code {result.exit_code}"
            )
            if result.ending is Ending.TIMED_OUT:
                how = f"did not end within {result.duration.total_seconds():.0f} s"
            last = (result.stderr or result.stdout).strip().splitlines()[-1:]
            excerpt = f": {last[0][:200]}" if last else ""
            table = (
                "[environment.healthcheck]"
                if context.task.problem.step is None
                else f"step {context.task.problem.step}: [steps.healthcheck]"
            )
            error = SandboxError(f"the environment is not healthy: {table} {how}{excerpt}")
            return error.blamed_on(Fault.TASK)
        context.cancel.wait(check.start_interval_s if is_starting else check.interval_s)
    return None


def _save_reports(context: StageContext, sandbox: Sandbox) -> list[ServiceReport]:
    _save_network_log(context, sandbox)
    reports = sandbox.service_reports() if isinstance(sandbox, HasServices) else ()
    _save_logs(context, {each.name: each.log for each in reports})
    return [each for each in reports if each.failure]


def _save_network_log(context: StageContext, sandbox: Sandbox) -> None:
    log = sandbox.take_network_log() if isinstance(sandbox, LogsNetwork) else b""
    if log:
        context.save(f"network/{context.stage}.jsonl", log)


def _save_logs(context: StageContext, logs: Mapping[str, bytes]) -> None:
    for name, log in logs.items():
        context.save(f"services/{context.stage}/{name}.log", log)
