"""A project on this machine worked on where it is, without a copy: for the MCP server.

It isolates nothing; what it adds to plain processes is that every one of them dies with its
command, that the environment is scrubbed, and that results go to a private folder.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Event

from agentbench.errors import SandboxError
from agentbench.sandbox.folder_sandbox import (
    FolderSandbox,
    InsidePaths,
    SandboxFolders,
    sandbox_folders,
)
from agentbench.sandbox.host_environment import host_python
from agentbench.sandbox.interface import ReadOnlyMount, Sandbox, SnapshotId
from agentbench.sandbox.process.provider import FOLDER_PREFIX
from agentbench.sandbox.process.runner import ProcessRunner

_PASSED_VARIABLES = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InPlaceFolders(SandboxFolders):
    """Private rooms, but for the workspace: that is the project's own folder."""

    project: Path

    @property
    def workspace(self) -> Path:
        """The project."""
        return self.project


@contextmanager
def open_in_place(
    project: Path, *, environ: Mapping[str, str], mounts: Sequence[ReadOnlyMount] = ()
) -> Iterator[Sandbox]:
    """A sandbox over a project's own folder; at the end its processes and results are gone.

    Args:
        project: An absolute path, links resolved.
        environ: Our own environment, of which commands get what says nothing secret.
        mounts: What commands are to find by name.

    Raises:
        SandboxError: no temporary folder can be made.
    """
    with ExitStack() as keep:
        try:
            rooms = keep.enter_context(
                sandbox_folders(Path(tempfile.gettempdir()), FOLDER_PREFIX, None)
            )
        except OSError as fault:
            raise SandboxError(f"no folder for results can be made: {fault.strerror}") from fault
        sandbox = _sandbox(InPlaceFolders(root=rooms.root, project=project), environ, mounts)
        keep.callback(sandbox.kill)
        yield sandbox


def scrubbed_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What of an environment commands may see: no token, no PYTHON*, no PYTEST*."""
    return {
        name: value
        for name, value in environ.items()
        if name in _PASSED_VARIABLES or name.startswith("LC_")
    }


def _sandbox(
    rooms: SandboxFolders, environ: Mapping[str, str], mounts: Sequence[ReadOnlyMount]
) -> FolderSandbox:
    python = host_python().executable
    runner = ProcessRunner(
        python=python,
        user=None,
        folder=rooms.workspace,
        limits=None,
        environment={**scrubbed_environment(environ), "TMPDIR": str(rooms.tmp)},
    )
    view = InsidePaths(
        workspace=PurePosixPath(rooms.workspace),
        results=PurePosixPath(rooms.results),
        home=PurePosixPath(rooms.home),
        tmp=PurePosixPath(rooms.tmp),
        python=PurePosixPath(python),
        mounts={mount.name: PurePosixPath(mount.source.resolve()) for mount in mounts},
    )
    return FolderSandbox(
        folders=rooms, paths=view, runner=runner, save=_refuse, cancel=Event(), watch=None
    )


def _refuse(key: str) -> SnapshotId:
    raise SandboxError(f"no snapshot {key}: a project is worked on in place")
