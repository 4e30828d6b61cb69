"""Folders as bytes that are sent between machines: an attempt's files, and a task's."""

import io
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

from agentbench.core.owned_folder import owned_folder
from agentbench.errors import UsageError
from agentbench.tasks.task import Task

MOST_BYTES = 64 << 20
"""Bytes of files that are sent with one attempt; its logs usually have some hundred KiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderArchive:
    """A folder as a tar, and the names of files that are too large for it."""

    content: bytes
    left_out: tuple[str, ...]


def pack(folder: Path, *, limit: int = MOST_BYTES) -> FolderArchive:
    """Pack the files of a folder, the small ones first, up to a limit."""
    files = [path for path in folder.rglob("*") if path.is_file() or path.is_symlink()]
    sizes = {path: path.lstat().st_size for path in files}
    left, left_out, buffer = limit, [], io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(files, key=lambda path: (sizes[path], path)):
            name = path.relative_to(folder).as_posix()
            left -= sizes[path]
            if left < 0:
                left_out.append(name)
            else:
                archive.add(path, name)
    return FolderArchive(content=buffer.getvalue(), left_out=tuple(left_out))


def unpack(content: bytes, folder: Path) -> None:
    """Unpack an archive into a folder; nothing is written outside of it.

    Raises:
        OSError: the disk is full, or the folder cannot be written.
        tarfile.TarError: it was not packed by `pack`.
    """
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        archive.extractall(folder, filter="data")


_TASK_FOLDER, _REPO, _BUNDLE = "task", "repo", "repo.bundle"


def pack_task(task: Task) -> bytes:
    """The folder of a task, and its repository if that is on this machine.

    Raises:
        UsageError: they are too large to be sent with every attempt.
    """
    source = task.source
    with owned_folder("agentbench-task-") as scratch:
        shutil.copytree(task.folder, scratch / _TASK_FOLDER, symlinks=True)
        if source.files is not None:
            shutil.copytree(source.files, scratch / _REPO, symlinks=True)
        elif (bundle := _bundle(task)) is not None:
            shutil.copyfile(bundle, scratch / _BUNDLE)
        packed = pack(scratch)
    if packed.left_out:
        raise UsageError(
            f"{task.id}: is too large to be sent to a cluster's nodes ({packed.left_out[0]}); give "
            "its repository as a URL that they can reach"
        )
    return packed.content


def unpack_task(task: Task, content: bytes, cache_dir: Path) -> Task:
    """The task with its files below a node's cache; its first attempt there writes them."""
    folder = cache_dir / "tasks" / task.digest
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with owned_folder("task-", folder.parent) as scratch:
            unpack(content, scratch / "whole")
            try:
                (scratch / "whole").rename(folder)
            except OSError:
                if not folder.is_dir():  # another attempt was not first
                    raise
    return _moved(task, folder)


def _moved(task: Task, folder: Path) -> Task:
    source, environment = task.source, task.environment
    if source.files is not None:
        source = source.model_copy(update={"files": folder / _REPO})
    elif _bundle(task) is not None:
        source = source.model_copy(update={"url": str(folder / _BUNDLE)})
    if environment.dockerfile is not None:
        dockerfile = folder / _TASK_FOLDER / environment.dockerfile.relative_to(task.folder)
        environment = environment.model_copy(update={"dockerfile": dockerfile})
    moved = {"folder": folder / _TASK_FOLDER, "source": source, "environment": environment}
    return task.model_copy(update=moved)


def _bundle(task: Task) -> str | None:
    url = task.source.url
    return url if url is not None and url.startswith("/") else None
