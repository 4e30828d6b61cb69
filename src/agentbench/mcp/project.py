"""What a server serves: a project, where its tests run, and with which Python."""

import os
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentbench.errors import UnavailableError, UsageError
from agentbench.mcp.masking import Mask
from agentbench.mcp.targets import Resolve, resolve_here, resolver_in
from agentbench.pytest_results.environment import Candidate, candidates
from agentbench.pytest_results.run import reporter_mounts
from agentbench.sandbox.in_place import opened_in_place
from agentbench.sandbox.interface import Sandbox
from agentbench.tasks.pytest_command import PytestCommand

_RUNS_AT_ONCE = 4
_SAME_ROOT = ("--rootdir=.",)  # else ids are relative to what a call's paths have in common


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A way to run pytest, and where it was found; `missing` when nothing is there after all."""

    name: str
    command: PytestCommand
    missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project that can be tested."""

    root: PurePosixPath  # as the tests see it
    open: Callable[[], AbstractContextManager[Sandbox]]  # for one call
    interpreters: Callable[[], Sequence[Interpreter]]  # to be tried in this order
    resolve: Resolve
    mask: Mask
    runs_at_once: int
    env: Mapping[str, str]
    isolated: bool  # the network and this machine's files are out of reach


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


def project_in(
    sandbox: Sandbox, command: PytestCommand, *, env: Mapping[str, str], isolated: bool
) -> Project:
    """A task's project in a sandbox that is open already and stays so.

    Args:
        sandbox: Opened with `reporter_mounts`.
        command: How the task runs pytest.
        env: What the task sets in the environment of its tests.
        isolated: Whether the sandbox keeps the network and this machine away.
    """
    return Project(
        root=sandbox.workspace,
        open=lambda: nullcontext(sandbox),
        interpreters=lambda: [Interpreter(name="the sandbox", command=command)],
        resolve=resolver_in(sandbox),
        mask=Mask(sandbox.workspace, known=[str(sandbox.results)]),
        runs_at_once=1,  # it has one workspace, and one command at a time in it
        env=env,
        isolated=isolated,
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
