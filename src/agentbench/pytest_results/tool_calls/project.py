"""A project to test: its sandbox, its interpreters, and the check of paths."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath

from agentbench.core.schema import Schema
from agentbench.errors import SandboxError
from agentbench.pytest_results.tool_calls.arguments import (
    InvalidArgumentsError,
    PathOutsideRootError,
)
from agentbench.pytest_results.tool_calls.path_masking import PathMask
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.tasks.problem import PytestCommand

_RESOLVE_TIMEOUT = timedelta(seconds=30)
_RESOLVE_SCRIPT = """
import json, os, sys
paths = [os.path.realpath(path) for path in json.load(sys.stdin)]
print(json.dumps({"paths": paths, "there": [os.path.exists(path) for path in paths]}))
"""


class ResolvedPaths(Schema):
    """Resolved paths, and whether they exist."""

    paths: tuple[str, ...]
    there: tuple[bool, ...]


PathResolver = Callable[[Sequence[str]], ResolvedPaths]
"""Resolves absolute paths in the environment of the tests."""


def check_targets(
    argument: str, given: Sequence[str], root: PurePosixPath, resolve: PathResolver
) -> None:
    """Refuse paths and node ids outside of the project.

    Args:
        argument: The argument's name, for messages.
        given: The caller's values.
        root: The project's folder, resolved.
        resolve: Resolves paths.

    Raises:
        PathOutsideRootError: a path leads out of the root, whether it exists or not.
        InvalidArgumentsError: a path does not exist.
    """
    files = [_file_of_node_id(text) if argument == "node_ids" else text for text in given]
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
        text = "no such file or folder under the project's root"
        raise InvalidArgumentsError([f"{argument}[{number}]: {text}" for number in missing[:20]])


def resolve_on_host(paths: Sequence[str]) -> ResolvedPaths:
    """Resolve paths on this machine."""
    followed = tuple(map(os.path.realpath, paths))
    return ResolvedPaths(paths=followed, there=tuple(_exists(path) for path in followed))


def sandbox_resolver(sandbox: Sandbox) -> PathResolver:
    """Resolve paths inside a sandbox, whose files this machine may not see."""

    def resolve(paths: Sequence[str]) -> ResolvedPaths:
        """Resolve paths with the sandbox's Python."""
        argv = ("python", "-I", "-S", "-c", _RESOLVE_SCRIPT)
        stdin = json.dumps(list(paths)).encode()
        result = sandbox.run(Command(argv=argv, timeout=_RESOLVE_TIMEOUT, stdin=stdin))
        if not result.ok:
            raise SandboxError(f"paths could not be checked in the sandbox ({result.ending})")
        return ResolvedPaths.model_validate_json(result.stdout)

    return resolve


def _file_of_node_id(node_id: str) -> str:
    return node_id.partition("::")[0] or "."


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:  # a name that is too long, or a folder without permission
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestInterpreter:
    """An interpreter for pytest, and where it was found; `missing` if it does not exist."""

    name: str
    command: PytestCommand
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
    sandbox: Sandbox, command: PytestCommand, *, env: Mapping[str, str], isolated: bool
) -> PytestProject:
    """A task's project in an open sandbox.

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
        resolve=sandbox_resolver(sandbox),
        mask=PathMask(sandbox.workspace, known=[str(sandbox.results)]),
        runs_at_once=1,  # it has one workspace, which runs one command at a time
        env=env,
        isolated=isolated,
    )
