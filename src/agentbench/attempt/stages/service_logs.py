"""Sandboxes with the services and the network of their task; logs and failures of the services.

Every stage has fresh services. A service that fails before the agent works is the task's fault,
unless something outside has killed it. Later the failure is a warning: the tests decide, and their
sandbox has services of its own. A final test that fails with a service is run once more.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress

from msgspec.structs import replace

from agentbench.attempt.context import StageContext
from agentbench.errors import SandboxError, ServiceError
from agentbench.sandbox.egress.plan import NO_NETWORK, NetworkPlan, open_with_network
from agentbench.sandbox.interface import (
    ORDINARY_USE,
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
from agentbench.scoring.taxonomy import Fault


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
    """A fresh sandbox with fresh services; saves the services' logs if one does not start.

    Raises:
        ServiceError: a service does not start.
        SandboxError: the sandbox could not be created.
    """
    use = replace(use, services=context.services, changes_network=network.changes)

    def opened(additional: Sequence[ReadOnlyMount]) -> AbstractContextManager[Sandbox]:
        """Open the sandbox itself."""
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
    """Check that no service has failed, before an agent works.

    Raises:
        ServiceError: a service has failed.
    """
    if failures:
        what = "; ".join(service_warnings(failures))
        error = ServiceError(f"{context.task.environment.compose}: {what}")
        is_killed = any(each.killed for each in failures)
        raise error.blamed_on(Fault.INFRASTRUCTURE.value) if is_killed else error


def service_warnings(failures: Sequence[ServiceReport]) -> tuple[str, ...]:
    """The warnings of a record about services that failed."""
    return tuple(f"service {each.name} {each.failure}" for each in failures)


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
