"""Waits until the environment of an agent is ready, by the task's own command."""

import time
from datetime import timedelta

from agentbench.attempt.context import PreparedContext
from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import CommandResult, Ending
from agentbench.scoring.taxonomy import Fault


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

    Raises:
        SandboxError: the sandbox is lost.
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
            return _unhealthy(context.task.problem.step, result, failures)
        context.cancel.wait(check.start_interval_s if is_starting else check.interval_s)
    return None


def _unhealthy(step: str | None, result: CommandResult, failures: int) -> SandboxError:
    how = f"failed {failures} times in a row, the last time with exit code {result.exit_code}"
    if result.ending is Ending.TIMED_OUT:
        how = f"did not end within {result.duration.total_seconds():.0f} s"
    last = (result.stderr or result.stdout).strip().splitlines()[-1:]
    said = f": {last[0][:200]}" if last else ""
    table = "[environment.healthcheck]" if step is None else f"step {step}: [steps.healthcheck]"
    error = SandboxError(f"the environment is not healthy: {table} {how}{said}")
    return error.blamed_on(Fault.TASK.value)
