"""A project to test: its sandbox, its interpreters, the check of paths, and calls of the tools."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import PurePosixPath
from threading import Event

from agentbench.core.schema import JsonObject, Schema
from agentbench.errors import SandboxError
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import PytestOutcome
from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.report_files import ProgressSink, RunProgress
from agentbench.test_runs.runner import RunRequest, TestRun
from agentbench.test_runs.runners import runner_of
from agentbench.test_tools import answers
from agentbench.test_tools.arguments import (
    DiscoverArguments,
    ExecuteArguments,
    InvalidArgumentsError,
    PathOutsideRootError,
)
from agentbench.test_tools.envelope import PathMask

_RESOLVE_TIMEOUT = timedelta(seconds=30)
_RESOLVE_SCRIPT = """
import json, os, sys
paths = [os.path.realpath(path) for path in json.load(sys.stdin)]
print(json.dumps({"paths": paths, "there": [os.path.exists(path) for path in paths]}))
"""
DISCOVERY_TIMEOUT = 120.0  # the time limit for collecting tests, in seconds


class ResolvedPaths(Schema):
    """Resolved paths, and whether they exist."""

    paths: tuple[str, ...]
    there: tuple[bool, ...]


PathResolver = Callable[[Sequence[str]], ResolvedPaths]
"""Resolves absolute paths in the environment of the tests."""


def check_targets(
    argument: str, targets: Sequence[str], root: PurePosixPath, resolve: PathResolver
) -> None:
    """Refuse paths and node ids outside of the project, whose resolved folder is `root`.

    Args:
        argument: The argument's name, for messages.
        targets: The caller's values.
        root: The project's folder, resolved.
        resolve: Resolves paths.

    Raises:
        PathOutsideRootError: a path leads out of the root, whether it exists or not.
        InvalidArgumentsError: a path does not exist.
    """
    files = [text.partition("::")[0] or "." if argument == "node_ids" else text for text in targets]
    # pytest reads a file's name up to a bracket, so this part must be inside, too.
    short = [file.partition("[")[0] or "." for file in files]
    found = resolve([str(root / file) for file in (*files, *short)])
    inside = [PurePosixPath(path).is_relative_to(root) for path in found.paths]
    for number, file in enumerate(files):
        climbs = ".." in PurePosixPath(file).parts
        if climbs or not (inside[number] and inside[number + len(files)]):
            raise PathOutsideRootError(f"{argument}[{number}]: leads out of the project's root")
    missing = [number for number in range(len(files)) if not found.there[number]]
    if missing:
        faults: list[str] = []
        for number in missing[:20]:
            why = "no such file or folder under the project's root"
            if argument == "paths" and "::" in files[number]:
                why = "is a node id; give ids in node_ids of execute_tests, or the file without ::"
            faults.append(f"{argument}[{number}]: {why}")
        raise InvalidArgumentsError(faults)


def resolve_on_host(paths: Sequence[str]) -> ResolvedPaths:
    """Resolve paths on this machine."""
    followed = tuple(map(os.path.realpath, paths))
    # Not Path.exists, which may raise OSError.
    exist = tuple(map(os.path.exists, followed))
    return ResolvedPaths(paths=followed, there=exist)


def resolve_in_sandbox(sandbox: Sandbox, paths: Sequence[str]) -> ResolvedPaths:
    """Resolve paths with a sandbox's Python, since this machine may not see its files."""
    argv = ("python", "-I", "-S", "-c", _RESOLVE_SCRIPT)
    stdin = json.dumps(list(paths)).encode()
    result = sandbox.run(Command(argv=argv, timeout=_RESOLVE_TIMEOUT, stdin=stdin))
    if not result.ok:
        raise SandboxError(f"paths could not be checked in the sandbox ({result.ending})")
    return ResolvedPaths.model_validate_json(result.stdout)


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestInterpreter:
    """An interpreter for pytest, and where it was found; `missing` if it does not exist."""

    name: str
    command: TestCommand
    missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestProject:
    """A project that can be tested."""

    root: PurePosixPath  # in the environment of the tests
    open: Callable[[], AbstractContextManager[Sandbox]]  # for one call
    interpreters: Callable[[], Sequence[PytestInterpreter]]  # in the order of use
    resolve: PathResolver
    mask: PathMask
    runs_at_once: int
    env: Mapping[str, str]
    isolated: bool  # tests reach neither the network nor this machine's files


def sandbox_project(
    sandbox: Sandbox, command: TestCommand, *, env: Mapping[str, str], isolated: bool
) -> PytestProject:
    """A task's project in a sandbox.

    Args:
        sandbox: The sandbox, opened with `reporter_mounts`.
        command: How the task runs pytest.
        env: The task's environment variables for tests.
        isolated: Whether the sandbox reaches neither the network nor this machine's files.
    """
    return PytestProject(
        root=sandbox.workspace,
        open=lambda: nullcontext(sandbox),
        interpreters=lambda: [PytestInterpreter(name="the sandbox", command=command)],
        resolve=partial(resolve_in_sandbox, sandbox),
        mask=PathMask(sandbox.workspace, known=[str(sandbox.results)]),
        runs_at_once=1,  # it has one workspace, which runs one command at a time
        env=env,
        isolated=isolated,
    )


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
        RunCancelled: it was cancelled; all its processes have ended.
    """
    try:
        if isinstance(arguments, ExecuteArguments):
            return _execute(project, arguments, watch)
        return _discover(project, arguments, watch.cancel)
    except InvalidArgumentsError as error:
        return answers.invalid_arguments(error.faults)
    except PathOutsideRootError as error:
        return answers.answer_to_error("path_outside_root", str(error), faults=(str(error),))
    except _NoPytestError as error:
        return answers.no_pytest(str(error), project.mask)


class _NoPytestError(Exception):
    """No interpreter of the project has pytest; lists those that were tried."""


def _execute(project: PytestProject, arguments: ExecuteArguments, watch: CallControl) -> JsonObject:
    full = arguments.detail == "full"
    request = partial(
        RunRequest,
        timeout=timedelta(seconds=arguments.timeout_s),
        targets=_checked_targets(project, paths=arguments.paths, node_ids=arguments.node_ids),
        keyword=arguments.keyword,
        markers=arguments.markers,
        max_failures=arguments.max_failures,
        last_failed=arguments.last_failed,
        report_limit=None if full else answers.SIZE_LIMIT,
        env=project.env,
    )
    found = _first_with_pytest(project, request, watch)
    summary = found.result.summary
    if watch.progress is not None:
        done = summary.total - summary.unfinished
        watch.progress(RunProgress(done=done, collected=max(done, summary.collected)))
    return answers.answer_to_run(found, project.mask, timeout_s=arguments.timeout_s, full=full)


def _discover(project: PytestProject, arguments: DiscoverArguments, cancel: Event) -> JsonObject:
    request = partial(
        RunRequest,
        collect_only=True,
        timeout=timedelta(seconds=DISCOVERY_TIMEOUT),
        targets=_checked_targets(project, paths=arguments.paths),
        keyword=arguments.keyword,
        markers=arguments.markers,
        report_limit=0,  # it is not in the answer
        env=project.env,
    )
    found = _first_with_pytest(project, request, CallControl(cancel=cancel))
    return answers.answer_to_discovery(found, project.mask, timeout_s=DISCOVERY_TIMEOUT)


def _checked_targets(project: PytestProject, **arguments: Sequence[str] | None) -> tuple[str, ...]:
    targets: tuple[str, ...] = ()
    for name, texts in arguments.items():
        if texts is not None:
            check_targets(name, texts, project.root, project.resolve)
            targets += tuple(texts)
    return targets


def _first_with_pytest(
    project: PytestProject, request: Callable[..., RunRequest], watch: CallControl
) -> TestRun:
    tried: list[str] = []
    for interpreter in project.interpreters():
        if interpreter.missing:
            tried.append(f"{interpreter.name}: not there")
            continue
        try:
            asked = request(runner=runner_of(interpreter.command))
        except ValueError as error:
            # For example, unittest has no markers.
            raise InvalidArgumentsError([str(error)]) from None
        with project.open() as sandbox:
            found = execute_tests(
                sandbox,
                asked,
                progress=watch.progress,
                cancel=watch.cancel,
            )
        if found.result.outcome is not PytestOutcome.SPAWN:
            return found
        tried.append(f"{interpreter.name}: {found.result.spawn_error}")
    listed = "; ".join(f"{number}. {what}" for number, what in enumerate(tried, 1))
    raise _NoPytestError(
        f"no interpreter with pytest. Tried, in this order: {listed or 'nothing to try'}"
    )
