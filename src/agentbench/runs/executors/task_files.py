"""A task's files on their way to a node that does not have them."""

import shutil
from pathlib import Path

from agentbench.errors import UsageError
from agentbench.owned_folder import owned_folder
from agentbench.runs.executors.baggage import pack, unpack
from agentbench.tasks.task import Task

_TASK, _REPO, _BUNDLE = "task", "repo", "repo.bundle"


def packed_task(task: Task) -> bytes:
    """The folder of a task and its repository, where that is files of this machine.

    Raises:
        UsageError: they are too large to be sent with every attempt.
    """
    source = task.source
    with owned_folder("agentbench-task-") as scratch:
        shutil.copytree(task.folder, scratch / _TASK, symlinks=True)
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


def unpacked_task(task: Task, content: bytes, cache_dir: Path) -> Task:
    """The task with its files below a node's cache, written there by whoever comes first."""
    folder = cache_dir / "tasks" / task.digest
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with owned_folder("task-", folder.parent) as scratch:
            unpack(content, scratch / "whole")
            try:
                (scratch / "whole").rename(folder)
            except OSError:
                if not folder.is_dir():  # nobody else was first
                    raise
    return _moved(task, folder)


def _moved(task: Task, folder: Path) -> Task:
    source, environment = task.source, task.environment
    if source.files is not None:
        source = source.model_copy(update={"files": folder / _REPO})
    elif _bundle(task) is not None:
        source = source.model_copy(update={"url": str(folder / _BUNDLE)})
    if environment.dockerfile is not None:
        dockerfile = folder / _TASK / environment.dockerfile.relative_to(task.folder)
        environment = environment.model_copy(update={"dockerfile": dockerfile})
    moved = {"folder": folder / _TASK, "source": source, "environment": environment}
    return task.model_copy(update=moved)


def _bundle(task: Task) -> str | None:
    url = task.source.url
    return url if url is not None and url.startswith("/") else None
