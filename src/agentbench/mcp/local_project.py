"""A project on this machine, tested in place with its own Python."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from agentbench.errors import UnavailableError, UsageError
from agentbench.sandbox.process.provider import open_in_place
from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs.python_runners import reporter_mounts
from agentbench.test_tools import project
from agentbench.test_tools.envelope import PathMask

ENVIRONMENT_FOLDERS = (".venv", "venv", ".virtualenv")
_RUNS_AT_ONCE = 4
# Without it, pytest's ids would be relative to the common folder of a call's paths.
_SAME_ROOT = ("--rootdir=.",)


def interpreter_candidates(
    root: Path, *, explicit: Path | None, environ: Mapping[str, str]
) -> tuple[project.PytestInterpreter, ...]:
    """The candidates for a project's Python in order; an explicit choice is the only one.

    Args:
        root: The project's folder.
        explicit: The user's choice: an interpreter, or a virtual environment.
        environ: Our own environment, for VIRTUAL_ENV and PATH.
    """
    if explicit is not None:
        chosen = explicit / "bin" / "python" if explicit.is_dir() else explicit
        return (_interpreter("--python", chosen.absolute()),)
    found = []
    if activated := environ.get("VIRTUAL_ENV"):
        found.append(_interpreter("VIRTUAL_ENV", Path(activated, "bin", "python")))
    found += [_interpreter(each, root / each / "bin" / "python") for each in ENVIRONMENT_FOLDERS]
    for name in ("python", "python3"):
        path = shutil.which(name, path=environ.get("PATH"))
        if path is not None:
            found.append(_interpreter(f"{name} on PATH", Path(path).absolute()))
    return tuple(found)


def local_project(
    root: Path, *, python: Path | None, environ: Mapping[str, str]
) -> project.PytestProject:
    """A project on this machine, tested in place with the user's interpreter or environment.

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
    if python is not None and found[0].missing:
        path = found[0].command.interpreter
        raise UsageError(f"--python: there is no interpreter at {path}")
    if python is not None and not os.access(found[0].command.interpreter, os.X_OK):
        raise UsageError(f"--python: {python} is not a program; name an interpreter or its folder")
    mounts = reporter_mounts()
    # Paths in answers below these folders would tell a client about this machine and its user.
    private = (environ.get("HOME", ""), sys.prefix, sys.base_prefix, tempfile.gettempdir())
    return project.PytestProject(
        root=PurePosixPath(folder),
        open=lambda: open_in_place(folder, environ=environ, mounts=mounts),
        interpreters=lambda: interpreter_candidates(folder, explicit=python, environ=environ),
        resolve=project.resolve_on_host,
        mask=PathMask(
            PurePosixPath(folder),
            tops=os.listdir("/"),  # noqa: PTH208 - names alone
            known=[each for each in private if each.startswith("/")],
        ),
        runs_at_once=_RUNS_AT_ONCE,
        env={},
        isolated=False,
    )


def _interpreter(name: str, path: Path) -> project.PytestInterpreter:
    return project.PytestInterpreter(
        name=f"{name} ({path})",
        command=TestCommand(as_module=True, interpreter=str(path), options=_SAME_ROOT),
        missing=not path.is_file(),
    )
