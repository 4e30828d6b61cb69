"""A project on this machine, as a server serves it: in place, with a Python of its own."""

import os
import platform
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from agentbench.errors import UnavailableError, UsageError
from agentbench.pytest_results.environment import Candidate, candidates
from agentbench.pytest_results.run import reporter_mounts
from agentbench.pytest_results.tool_calls.masking import Mask
from agentbench.pytest_results.tool_calls.project import Interpreter, Project
from agentbench.pytest_results.tool_calls.targets import resolve_here
from agentbench.sandbox.in_place import opened_in_place
from agentbench.tasks.pytest_command import PytestCommand

_RUNS_AT_ONCE = 4
_SAME_ROOT = ("--rootdir=.",)  # else ids are relative to what a call's paths have in common


def project_here(root: Path, *, python: Path | None, environ: Mapping[str, str]) -> Project:
    """A project on this machine, worked on in place.

    Args:
        root: Its folder.
        python: The interpreter or environment that the user named.
        environ: Our own environment.

    Raises:
        UsageError: there is no such folder, or no such interpreter.
        UnavailableError: processes cannot be seen to their end here.
    """
    if platform.system() != "Linux":
        raise UnavailableError("--root needs Linux; use --task with --sandbox docker")
    folder = Path(os.path.realpath(root))
    if not folder.is_dir():
        raise UsageError(f"--root: expected a folder, found none at {root}")
    found = candidates(folder, explicit=python, environ=environ)
    if python is not None and not found[0].exists:
        raise UsageError(f"--python: there is no interpreter at {found[0].interpreter}")
    mounts = reporter_mounts()
    return Project(
        root=PurePosixPath(folder),
        open=lambda: opened_in_place(folder, environ=environ, mounts=mounts),
        interpreters=lambda: [
            _interpreter(candidate)
            for candidate in candidates(folder, explicit=python, environ=environ)
        ],
        resolve=resolve_here,
        mask=Mask(PurePosixPath(folder), tops=os.listdir("/"), known=_own_places(environ)),  # noqa: PTH208 - names alone
        runs_at_once=_RUNS_AT_ONCE,
        env={},
        isolated=False,
    )


def _interpreter(candidate: Candidate) -> Interpreter:
    return Interpreter(
        name=f"{candidate.name} ({candidate.interpreter})",
        command=PytestCommand(
            as_module=True, interpreter=str(candidate.interpreter), options=_SAME_ROOT
        ),
        missing=not candidate.exists,
    )


def _own_places(environ: Mapping[str, str]) -> Sequence[str]:
    places = (environ.get("HOME", ""), sys.prefix, sys.base_prefix, tempfile.gettempdir())
    return [place for place in places if place.startswith("/")]
