"""Sandboxes with the services of their task: the services' logs, and their failures.

Every stage has fresh services. A service that fails before the agent works is the task's fault.
Later the failure is a warning: the tests decide, and their sandbox has services of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from agentbench.attempt.context import StageContext
from agentbench.errors import SandboxError, ServiceError
from agentbench.sandbox.interface import (
    ORDINARY_USE,
    HasServices,
    ImageId,
    Limits,
    ReadOnlyMount,
    Sandbox,
    SandboxUse,
    SnapshotId,
)


@contextmanager
def open_sandbox(
    context: StageContext,
    source: ImageId | SnapshotId,
    *,
    limits: Limits | None = None,
    network: bool = False,
    mounts: Sequence[ReadOnlyMount] = (),
    use: SandboxUse = ORDINARY_USE,
) -> Iterator[Sandbox]:
    """A fresh sandbox with fresh services; saves the services' logs if one does not start.

    Raises:
        ServiceError: a service does not start.
        SandboxError: the sandbox could not be created.
    """
    try:
        with context.provider.open(
            source,
            limits=limits or context.limits,
            network=network,
            mounts=mounts,
            cancel=context.cancel,
            use=replace(use, services=context.services),
        ) as sandbox:
            yield sandbox
    except ServiceError as error:
        _save_logs(context, error.logs)
        raise


@contextmanager
def watched_services(context: StageContext, sandbox: Sandbox) -> Iterator[list[str]]:
    """A list of how services failed during the block, filled at its end; saves their logs.

    Raises:
        SandboxError: the engine is lost.
    """
    failures: list[str] = []
    try:
        yield failures
    except BaseException:
        with suppress(SandboxError):  # report the first error
            _save_reports(context, sandbox)
        raise
    failures += _save_reports(context, sandbox)


def require_services(context: StageContext, failures: Sequence[str]) -> None:
    """Check that no service has failed, before an agent works.

    Raises:
        ServiceError: one has.
    """
    if failures:
        raise ServiceError(f"{context.task.environment.compose}: {'; '.join(failures)}")


def _save_reports(context: StageContext, sandbox: Sandbox) -> list[str]:
    reports = sandbox.service_reports() if isinstance(sandbox, HasServices) else ()
    _save_logs(context, {each.name: each.log for each in reports})
    return [f"service {each.name} {each.failure}" for each in reports if each.failure]


def _save_logs(context: StageContext, logs: Mapping[str, bytes]) -> None:
    for name, log in logs.items():
        context.save(f"services/{context.stage}/{name}.log", log)
