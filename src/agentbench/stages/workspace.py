"""Writing files into the workspace of a fresh sandbox."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.errors import SandboxError
from agentbench.sandbox.archive import tar_of_files
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.tasks.patched_file import PatchedFile

_TIMEOUT = timedelta(minutes=5)


def write_files(
    sandbox: Sandbox,
    files: Mapping[PurePosixPath, PatchedFile | None],
    *,
    emptied: Iterable[PurePosixPath] = (),
) -> None:
    """Write files into the workspace, after removing those that are `None` or folders now gone.

    Raises:
        SandboxError: the sandbox is lost or refuses the files.
    """
    written = {path: file for path, file in files.items() if file is not None}
    removed = [path for path, file in files.items() if file is None]
    removed += [folder for folder in emptied if not _holds(folder, written)]
    if removed:
        _remove(sandbox, removed)
    if written:
        sandbox.write_tree(sandbox.workspace, tar_of_files(written))


def _remove(sandbox: Sandbox, paths: Iterable[PurePosixPath]) -> None:
    names = b"\0".join(f"./{path.as_posix()}".encode("utf-8", "surrogateescape") for path in paths)
    result = sandbox.run(
        Command(argv=("xargs", "-0", "rm", "-rf", "--"), stdin=names, timeout=_TIMEOUT)
    )
    if not result.ok:
        raise SandboxError(f"files could not be removed: {result.stderr.strip()[:200]}")


def _holds(folder: PurePosixPath, written: Mapping[PurePosixPath, PatchedFile]) -> bool:
    return any(folder in path.parents for path in written)
