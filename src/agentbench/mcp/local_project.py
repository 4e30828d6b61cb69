"""A project on this machine, tested in place with its own Python."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentbench.errors import UnavailableError, UsageError
from agentbench.pytest_results.execution import reporter_mounts
from agentbench.pytest_results.tool_calls import project
from agentbench.pytest_results.tool_calls.path_masking import PathMask
from agentbench.sandbox.process.in_place import open_in_place
from agentbench.tasks.problem import PytestCommand

ENVIRONMENT_FOLDERS = (".venv", "venv", ".virtualenv")
"""The folders of a project's environment, the most usual one first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterpreterCandidate:
    """An interpreter that may have pytest. `name` says where it was found."""

    name: str
    interpreter: Path

    @property
    def exists(self) -> bool:
        """Whether the file exists."""
        return self.interpreter.is_file()


def interpreter_candidates(
    root: Path, *, explicit: Path | None, environ: Mapping[str, str]
) -> tuple[InterpreterCandidate, ...]:
    """The candidates for a project's Python in order; an explicit one is the only one.

    Args:
        root: The project's folder.
        explicit: The user's choice: an interpreter, or a virtual environment.
        environ: Our own environment, for VIRTUAL_ENV and PATH.
    """
    if explicit is not None:
        chosen = explicit / "bin" / "python" if explicit.is_dir() else explicit
        return (InterpreterCandidate(name="--python", interpreter=chosen.absolute()),)
    return tuple(_detected_candidates(root, environ))


def _detected_candidates(root: Path, environ: Mapping[str, str]) -> Iterator[InterpreterCandidate]:
    activated = environ.get("VIRTUAL_ENV")
    if activated:
        yield InterpreterCandidate(name="VIRTUAL_ENV", interpreter=Path(activated, "bin", "python"))
    for folder in ENVIRONMENT_FOLDERS:
        yield InterpreterCandidate(name=folder, interpreter=root / folder / "bin" / "python")
    for name in ("python", "python3"):
        found = shutil.which(name, path=environ.get("PATH"))
        if found is not None:
            yield InterpreterCandidate(name=f"{name} on PATH", interpreter=Path(found).absolute())


_RUNS_AT_ONCE = 4
_SAME_ROOT = (
    "--rootdir=.",
)  # or pytest's ids would be relative to the common folder of a call's paths


def local_project(
    root: Path, *, python: Path | None, environ: Mapping[str, str]
) -> project.PytestProject:
    """A project on this machine, tested in place.

    Args:
        root: Its folder.
        python: The user's interpreter or environment.
        environ: Our own environment.

    Raises:
        UsageError: there is no such folder, or no such interpreter.
        UnavailableError: process trees cannot be controlled here.
    """
    if platform.system() != "Linux":
        raise UnavailableError("--root needs Linux; use --task with --sandbox docker")
    folder = Path(os.path.realpath(root))
    if not folder.is_dir():
        raise UsageError(f"--root: expected a folder, found none at {root}")
    found = interpreter_candidates(folder, explicit=python, environ=environ)
    if python is not None and not found[0].exists:
        raise UsageError(f"--python: there is no interpreter at {found[0].interpreter}")
    mounts = reporter_mounts()
    return project.PytestProject(
        root=PurePosixPath(folder),
        open=lambda: open_in_place(folder, environ=environ, mounts=mounts),
        interpreters=lambda: [
            _interpreter(candidate)
            for candidate in interpreter_candidates(folder, explicit=python, environ=environ)
        ],
        resolve=project.resolve_on_host,
        mask=PathMask(PurePosixPath(folder), tops=os.listdir("/"), known=_private_folders(environ)),  # noqa: PTH208 - names alone
        runs_at_once=_RUNS_AT_ONCE,
        env={},
        isolated=False,
    )


def _interpreter(candidate: InterpreterCandidate) -> project.PytestInterpreter:
    return project.PytestInterpreter(
        name=f"{candidate.name} ({candidate.interpreter})",
        command=PytestCommand(
            as_module=True, interpreter=str(candidate.interpreter), options=_SAME_ROOT
        ),
        missing=not candidate.exists,
    )


def _private_folders(environ: Mapping[str, str]) -> Sequence[str]:
    places = (environ.get("HOME", ""), sys.prefix, sys.base_prefix, tempfile.gettempdir())
    return [place for place in places if place.startswith("/")]
