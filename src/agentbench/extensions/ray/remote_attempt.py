"""An attempt on another machine: its description, its files, and its run by a worker.

Each node opens its own gateway. The model's key is never sent, since all users of the cluster's
object store could read it.
"""

import atexit
import hashlib
import io
import platform
import shutil
import tarfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from agentbench import __version__
from agentbench.agents.interface import Agent
from agentbench.attempt.attempt import run_attempt
from agentbench.attempt.record import AttemptRecord, RunId
from agentbench.attempt.resources import AttemptSlot, RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.core.files import owned_folder, write_atomically
from agentbench.core.host import usable_cache_dir
from agentbench.errors import UnavailableError, UsageError
from agentbench.models.interface import ModelGateway
from agentbench.runs.components import agent_of, remove_all_orphans
from agentbench.runs.options import RunOptions, open_model
from agentbench.sandbox.interface import SandboxProvider
from agentbench.sandbox.registry import select_back_end
from agentbench.tasks.task import Task

MOST_BYTES = 64 << 20
"""Bytes of files that are sent with one attempt; its logs usually have some hundred KiB."""
_open_gateways: dict[tuple[RunSettings, bytes | None], ModelGateway | None] = {}
_gateways_at_exit = ExitStack()
_POLL = 0.2  # seconds; a cluster's cancellation does not end a blocking call


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderArchive:
    """A folder as a tar, and the names of files that are too large for it."""

    content: bytes
    left_out: tuple[str, ...]


def pack(folder: Path, *, limit: int = MOST_BYTES) -> FolderArchive:
    """Pack the files of a folder, the small ones first, up to a limit."""
    files = [path for path in folder.rglob("*") if path.is_file() or path.is_symlink()]
    sizes = {path: path.lstat().st_size for path in files}
    remaining, left_out, buffer = limit, [], io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        # One huge log must not push out the small files, which a reader needs first.
        for path in sorted(files, key=lambda path: (sizes[path], path)):
            name = path.relative_to(folder).as_posix()
            remaining -= sizes[path]
            if remaining < 0:
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
    """The folder of a task, and its repository if that is on this machine."""
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
        source = source.replace(files=folder / _REPO)
    elif _bundle(task) is not None:
        source = source.replace(url=str(folder / _BUNDLE))
    files = {"dockerfile": environment.dockerfile, "compose": environment.compose}
    environment = environment.replace(
        **{
            key: folder / _TASK_FOLDER / file.relative_to(task.folder)
            for key, file in files.items()
            if file is not None
        }
    )
    moved = {"folder": folder / _TASK_FOLDER, "source": source, "environment": environment}
    return task.replace(**moved)


def _bundle(task: Task) -> str | None:
    url = task.source.url
    return url if url is not None and url.startswith("/") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """The configuration of a run for the nodes that make its attempts."""

    run_id: RunId
    agentbench_version: str
    agent: Agent | str
    sandbox: str
    settings: RunSettings
    prices: bytes | None = None  # the content of the price file, which a node does not have


atexit.register(_gateways_at_exit.close)


def gateway_of_process(worker: WorkerConfig, agent: Agent, cache_dir: Path) -> ModelGateway | None:
    """The gateway of this process; its first attempt opens it."""
    settings, prices = key = worker.settings, worker.prices
    if key not in _open_gateways:
        if prices is not None:
            path = cache_dir / f"prices-{hashlib.sha256(prices).hexdigest()[:16]}.json"
            write_atomically(path, prices)
            settings = settings.replace(prices=path)
        try:
            opened = open_model(settings, agent, probe=False)
            _open_gateways[key] = _gateways_at_exit.enter_context(opened)
        except UsageError as error:
            raise UnavailableError(
                f"{platform.node()}: {error} (a node takes keys from the environment of its `ray "
                "start`)"
            ) from error
    return _open_gateways[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteAttempt:
    """One try at one attempt, with the task and its files."""

    worker: WorkerConfig
    task: Task
    files: bytes  # of the task, as a tar; the paths in `task` are those of the driver
    attempt: int
    retry_of: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteResult:
    """The record of a try, and the attempt's folder as a tar."""

    record: AttemptRecord
    files: FolderArchive
    node: str


def run_on_node(remote: RemoteAttempt) -> RemoteResult:
    """Make one try in this process; a KeyboardInterrupt cancels it, and the record says so."""
    worker = remote.worker
    if worker.agentbench_version != __version__:
        raise UnavailableError(
            f"{platform.node()}: has agentbench {__version__}, the run has "
            f"{worker.agentbench_version}; install the same on every node"
        )
    cache_dir = usable_cache_dir()
    options = RunOptions(
        **dict(worker.settings), agent=worker.agent, sandbox=worker.sandbox, cache_dir=cache_dir
    )
    provider = _provider(worker.sandbox, cache_dir)
    with owned_folder("agentbench-attempt-") as scratch:
        folder = scratch / "attempt"
        folder.mkdir()
        record = _run_attempt(remote, options, provider, folder)
        return RemoteResult(record=record, files=pack(folder), node=platform.node())


# This node's back end; removes orphans of killed runs first, once per process.
@cache
def _provider(sandbox: str, cache_dir: Path) -> SandboxProvider:
    provider = select_back_end(sandbox, cache_dir=cache_dir).provider
    remove_all_orphans(cache_dir, provider, say=lambda _line: None)
    return provider


def _run_attempt(
    remote: RemoteAttempt, options: RunOptions, provider: SandboxProvider, folder: Path
) -> AttemptRecord:
    task = unpack_task(remote.task, remote.files, options.cache_dir)
    agent = agent_of(options, [task])
    gateway = gateway_of_process(remote.worker, agent, options.cache_dir)
    resources = RunResources.of(provider, options.settings(), cache_dir=options.cache_dir)
    resources = replace(resources, gateway=gateway)
    slot = AttemptSlot(
        folder=folder, run_id=remote.worker.run_id, attempt=remote.attempt, retry_of=remote.retry_of
    )
    work = partial(run_attempt, task, agent, resources, slot)
    try:
        with ThreadPoolExecutor(max_workers=1) as pool:
            future = pool.submit(work)
            while True:
                try:
                    return future.result(timeout=_POLL)
                except TimeoutError:
                    if future.done():
                        raise
                except KeyboardInterrupt:
                    resources.cancel.set()
    finally:
        resources.background.finish()  # the worker may be ended as soon as it has nothing to do
