"""Runs or discovers a project's tests, and creates the answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Event
from typing import TypeVar

from agentbench.core.schema import JsonObject
from agentbench.pytest_results import execution
from agentbench.pytest_results.command import PytestRequest
from agentbench.pytest_results.report_files import ProgressSink, RunProgress
from agentbench.pytest_results.tool_calls import answers
from agentbench.pytest_results.tool_calls.arguments import (
    DiscoverArguments,
    ExecuteArguments,
    InvalidArgumentsError,
    PathOutsideRootError,
)
from agentbench.pytest_results.tool_calls.project import (
    PytestInterpreter,
    PytestProject,
    check_targets,
)
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import PytestOutcome

DISCOVERY_TIMEOUT = 120.0
"""The time limit for collecting tests, in seconds."""

_RunT = TypeVar("_RunT", execution.PytestRun, execution.DiscoveredTests)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallControl:
    """How a call reports progress and is cancelled."""

    cancel: Event
    progress: ProgressSink | None = None


def call_tests(
    project: PytestProject, arguments: ExecuteArguments | DiscoverArguments, watch: CallControl
) -> JsonObject:
    """Run or discover tests, and return the answer. It runs pytest, so it blocks.

    Raises:
        SandboxError: the sandbox is lost, or cannot resolve paths.
        RunCancelled: it was cancelled; no process of it runs any more.
    """
    try:
        if isinstance(arguments, ExecuteArguments):
            return _execute(project, arguments, watch)
        return _discover(project, arguments, watch)
    except InvalidArgumentsError as error:
        return answers.invalid_arguments(error.faults)
    except PathOutsideRootError as error:
        return answers.path_outside_root(str(error))


def _execute(project: PytestProject, arguments: ExecuteArguments, watch: CallControl) -> JsonObject:
    targets = _checked_targets(project, paths=arguments.paths, node_ids=arguments.node_ids)
    full = arguments.detail == "full"

    def run(sandbox: Sandbox, interpreter: PytestInterpreter) -> execution.PytestRun:
        """Run the call in an open sandbox."""
        request = PytestRequest(
            command=interpreter.command,
            timeout=timedelta(seconds=arguments.timeout_s),
            targets=targets,
            keyword=arguments.keyword,
            markers=arguments.markers,
            max_failures=arguments.max_failures,
            last_failed=arguments.last_failed,
            report_limit=None if full else answers.SIZE_LIMIT,
            env=project.env,
        )
        return execution.execute_tests(
            sandbox, request, progress=watch.progress, cancel=watch.cancel
        )

    found = _first_with_pytest(project, run, lambda run: run)
    if isinstance(found, str):
        return answers.no_pytest(found, project.mask)
    summary = found.result.summary
    if watch.progress is not None:
        done = summary.total - summary.unfinished
        watch.progress(RunProgress(done=done, collected=max(done, summary.collected)))
    return answers.answer_to_run(found, project.mask, timeout_s=arguments.timeout_s, full=full)


def _discover(
    project: PytestProject, arguments: DiscoverArguments, watch: CallControl
) -> JsonObject:
    targets = _checked_targets(project, paths=arguments.paths)

    def run(sandbox: Sandbox, interpreter: PytestInterpreter) -> execution.DiscoveredTests:
        """Run the call in an open sandbox."""
        request = PytestRequest(
            command=interpreter.command,
            timeout=timedelta(seconds=DISCOVERY_TIMEOUT),
            targets=targets,
            keyword=arguments.keyword,
            markers=arguments.markers,
            report_limit=0,  # it is not in the answer
            env=project.env,
        )
        return execution.discover_tests(sandbox, request, cancel=watch.cancel)

    found = _first_with_pytest(project, run, lambda discovery: discovery.run)
    if isinstance(found, str):
        return answers.no_pytest(found, project.mask)
    return answers.answer_to_discovery(found, project.mask, timeout_s=DISCOVERY_TIMEOUT)


def _checked_targets(project: PytestProject, **given: Sequence[str] | None) -> tuple[str, ...]:
    """The targets for pytest, which are all inside the project."""
    targets: tuple[str, ...] = ()
    for name, texts in given.items():
        if texts is not None:
            check_targets(name, texts, project.root, project.resolve)
            targets += tuple(texts)
    return targets


def _first_with_pytest(
    project: PytestProject,
    run: Callable[[Sandbox, PytestInterpreter], _RunT],
    run_of: Callable[[_RunT], execution.PytestRun],
) -> _RunT | str:
    """The result with the first interpreter that has pytest; else the ones that were tried."""
    tried: list[str] = []
    for interpreter in project.interpreters():
        if interpreter.missing:
            tried.append(f"{interpreter.name}: not there")
            continue
        with project.open() as sandbox:
            made = run(sandbox, interpreter)
        result = run_of(made).result
        if result.outcome is not PytestOutcome.SPAWN:
            return made
        tried.append(f"{interpreter.name}: {result.spawn_error}")
    listed = "; ".join(f"{number}. {what}" for number, what in enumerate(tried, 1))
    return f"no interpreter with pytest. Tried, in this order: {listed or 'nothing to try'}"
