"""A project on this machine, worked on in its own folder, without a copy: for the MCP server.

It isolates nothing. Unlike for plain processes, all processes of a command die with it, the
environment is scrubbed, and results go to a private folder.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from threading import Event

from agentbench.errors import SandboxError
from agentbench.sandbox.folder_sandbox import FolderSandbox, InsidePaths, sandbox_folders
from agentbench.sandbox.host_environment import host_python
from agentbench.sandbox.interface import ReadOnlyMount, Sandbox, SnapshotId
from agentbench.sandbox.process.provider import FOLDER_PREFIX
from agentbench.sandbox.process.runner import ProcessRunner

_PASSED_VARIABLES = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ"}
)


@contextmanager
def open_in_place(
    project: Path, *, environ: Mapping[str, str], mounts: Sequence[ReadOnlyMount] = ()
) -> Iterator[Sandbox]:
    """A sandbox over a project's own folder; its processes and results are removed at the end.

    Args:
        project: An absolute path with resolved links.
        environ: Our own environment; commands get its harmless variables.
        mounts: The mounts of the sandbox.

    Raises:
        SandboxError: no temporary folder can be created.
    """
    python = host_python().executable
    with ExitStack() as stack:
        try:
            private = stack.enter_context(
                sandbox_folders(Path(tempfile.gettempdir()), FOLDER_PREFIX, None)
            )
        except OSError as fault:
            raise SandboxError(f"cannot create a folder for results: {fault.strerror}") from fault
        folders = replace(private, workspace=project)
        runner = ProcessRunner(
            python=python,
            user=None,
            folder=project,
            limits=None,
            environment={**scrubbed_environment(environ), "TMPDIR": str(folders.tmp)},
        )
        mounted = {mount.name: PurePosixPath(mount.source.resolve()) for mount in mounts}
        paths = InsidePaths.of_host(folders, python, mounted)
        sandbox = FolderSandbox(
            folders=folders, paths=paths, runner=runner, save=_refuse, cancel=Event(), watch=None
        )
        stack.callback(sandbox.kill)
        yield sandbox


def scrubbed_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The harmless part of an environment: no token, no PYTHON*, no PYTEST*."""
    return {
        name: value
        for name, value in environ.items()
        if name in _PASSED_VARIABLES or name.startswith("LC_")
    }


def _refuse(key: str) -> SnapshotId:
    raise SandboxError(f"cannot save the snapshot {key}: the project is used in place")
