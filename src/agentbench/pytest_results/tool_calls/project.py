"""A project whose tests are called for: where they run, with which Python, and which paths."""

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
    """Where paths lead, links followed, and whether anything is there."""

    paths: tuple[str, ...]
    there: tuple[bool, ...]


PathResolver = Callable[[Sequence[str]], ResolvedPaths]
"""Follows absolute paths where the tests will run."""


def check_targets(
    argument: str, given: Sequence[str], root: PurePosixPath, resolve: PathResolver
) -> None:
    """Refuse paths, or ids of tests in them, that pytest is not to see.

    Args:
        argument: Their name, for messages.
        given: As the caller wrote them.
        root: The project's folder, resolved.
        resolve: Follows links.

    Raises:
        PathOutsideRootError: one leads out of the root, whether it is there or not.
        InvalidArgumentsError: one is not there.
    """
    files = [_file_of_node_id(text) if argument == "node_ids" else text for text in given]
    # pytest reads a file's name up to a bracket, so that must stay inside as well.
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
    """Follow links on this machine."""
    followed = tuple(map(os.path.realpath, paths))
    return ResolvedPaths(paths=followed, there=tuple(_exists(path) for path in followed))


def sandbox_resolver(sandbox: Sandbox) -> PathResolver:
    """Follow links inside a sandbox, whose files this machine may not see."""

    def resolve(paths: Sequence[str]) -> ResolvedPaths:
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
    except OSError:  # a name that is too long, a folder that is closed to us
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestInterpreter:
    """A way to run pytest, and where it was found; `missing` when nothing is there after all."""

    name: str
    command: PytestCommand
    missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestProject:
    """A project that can be tested."""

    root: PurePosixPath  # as the tests see it
    open: Callable[[], AbstractContextManager[Sandbox]]  # for one call
    interpreters: Callable[[], Sequence[PytestInterpreter]]  # to be tried in this order
    resolve: PathResolver
    mask: PathMask
    runs_at_once: int
    env: Mapping[str, str]
    isolated: bool  # the network and this machine's files are out of reach


def sandbox_project(
    sandbox: Sandbox, command: PytestCommand, *, env: Mapping[str, str], isolated: bool
) -> PytestProject:
    """A task's project in a sandbox that is open already and stays so.

    Args:
        sandbox: Opened with `reporter_mounts`.
        command: How the task runs pytest.
        env: What the task sets in the environment of its tests.
        isolated: Whether the sandbox keeps the network and this machine away.
    """
    return PytestProject(
        root=sandbox.workspace,
        open=lambda: nullcontext(sandbox),
        interpreters=lambda: [PytestInterpreter(name="the sandbox", command=command)],
        resolve=sandbox_resolver(sandbox),
        mask=PathMask(sandbox.workspace, known=[str(sandbox.results)]),
        runs_at_once=1,  # it has one workspace, and one command at a time in it
        env=env,
        isolated=isolated,
    )
