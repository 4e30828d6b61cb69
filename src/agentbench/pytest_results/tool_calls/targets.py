"""Checks paths before pytest sees them: they are there, and they do not lead out of the root."""

import json
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path, PurePosixPath

from agentbench.errors import SandboxError
from agentbench.pytest_results.tool_calls.arguments import (
    InvalidArgumentsError,
    PathOutsideRootError,
)
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.schema import Schema

_RESOLVES_WITHIN = timedelta(seconds=30)
_RESOLVE = """
import json, os, sys
paths = [os.path.realpath(path) for path in json.load(sys.stdin)]
print(json.dumps({"paths": paths, "there": [os.path.exists(path) for path in paths]}))
"""


class Resolved(Schema):
    """Where paths lead, links followed, and whether anything is there."""

    paths: tuple[str, ...]
    there: tuple[bool, ...]


Resolve = Callable[[Sequence[str]], Resolved]
"""Follows absolute paths where the tests will run."""


def check_targets(
    argument: str, given: Sequence[str], root: PurePosixPath, resolve: Resolve
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
    files = [_file(text) if argument == "node_ids" else text for text in given]
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


def resolve_here(paths: Sequence[str]) -> Resolved:
    """Follow links on this machine."""
    followed = tuple(map(os.path.realpath, paths))
    return Resolved(paths=followed, there=tuple(_is_there(path) for path in followed))


def resolver_in(sandbox: Sandbox) -> Resolve:
    """Follow links inside a sandbox, whose files this machine may not see."""

    def resolve(paths: Sequence[str]) -> Resolved:
        argv = ("python", "-I", "-S", "-c", _RESOLVE)
        stdin = json.dumps(list(paths)).encode()
        result = sandbox.run(Command(argv=argv, timeout=_RESOLVES_WITHIN, stdin=stdin))
        if not result.ok:
            raise SandboxError(f"paths could not be checked in the sandbox ({result.ending})")
        return Resolved.model_validate_json(result.stdout)

    return resolve


def _file(node_id: str) -> str:
    return node_id.partition("::")[0] or "."


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:  # a name that is too long, a folder that is closed to us
        return False
