"""One attempt on a node of a cluster.

What travels there and back, the node's own gateway to the model, and what the node does.

The key never travels: whoever may look into a cluster's object store would see it.
"""

import atexit
import hashlib
import platform
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from threading import Event

from agentbench import __version__
from agentbench.agents.interface import Agent
from agentbench.attempt.record import AttemptRecord, RunId
from agentbench.attempt.resources import AttemptSlot
from agentbench.attempt.runner import run_pipeline
from agentbench.core.choices import ControlLevel
from agentbench.core.files import write_atomically
from agentbench.core.owned_folder import owned_folder
from agentbench.errors import UnavailableError, UsageError
from agentbench.models.interface import ModelGateway
from agentbench.runs.components import (
    agent_of,
    report_removed_orphans,
    resources_of,
    select_sandbox,
)
from agentbench.runs.environment import usable_cache_dir
from agentbench.runs.executors.attempt_archive import pack, unpack_task
from agentbench.runs.model_settings import ModelSettings
from agentbench.runs.options import RunOptions
from agentbench.sandbox.interface import SandboxProvider
from agentbench.tasks.task import Task

_open_gateways: dict["WorkerModel", ModelGateway | None] = {}
_gateways_at_exit = ExitStack()
atexit.register(_gateways_at_exit.close)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerModel:
    """Which model attempts use, wherever they are made."""

    name: str | None = None
    base_url: str | None = None
    prices: bytes | None = None  # of models, beside the known ones: a file's content

    @classmethod
    def of(cls, setting: ModelSettings) -> "WorkerModel":
        """What a run was told, with the file of prices read.

        Raises:
            OSError: that cannot be read.
        """
        prices = setting.prices.read_bytes() if setting.prices is not None else None
        return cls(name=setting.name, base_url=setting.base_url, prices=prices)

    def setting(self, cache_dir: Path) -> ModelSettings:
        """The same on this machine; the prices lie below its cache then.

        Raises:
            OSError: the cache cannot be written.
        """
        prices = None
        if self.prices is not None:
            prices = cache_dir / f"prices-{hashlib.sha256(self.prices).hexdigest()[:16]}.json"
            write_atomically(prices, self.prices)
        return ModelSettings(name=self.name, base_url=self.base_url, prices=prices)


def gateway_of_process(orders: WorkerModel, agent: Agent, cache_dir: Path) -> ModelGateway | None:
    """The gateway of this process, opened by whichever attempt comes first.

    Raises:
        UnavailableError: this node has no key for the model, or cannot open one.
    """
    if orders not in _open_gateways:
        try:
            way = orders.setting(cache_dir).opened(agent, probe=False)
            _open_gateways[orders] = _gateways_at_exit.enter_context(way)
        except UsageError as error:
            raise UnavailableError(
                f"{platform.node()}: {error} (a node's keys are those of the environment that "
                "`ray start` had there)"
            ) from error
    return _open_gateways[orders]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """What is the same for every attempt of a run, wherever it is made."""

    run_id: RunId
    agentbench_version: str
    agent: Agent | str
    agent_command: str | None
    model: WorkerModel
    sandbox: str
    use_cache: bool
    registry: str | None
    timeout_scale: float
    integrity_controls: ControlLevel | None
    attempt_timeout: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteAttempt:
    """One try at one attempt, with all that a node needs to know of the task."""

    orders: WorkerConfig
    task: Task
    files: bytes  # of the task, as a tar; the paths in `task` are those of the run's machine
    attempt: int
    retry_of: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteResult:
    """What came of it: the record, and the attempt's folder as a tar."""

    record: AttemptRecord
    files: bytes
    left_out: tuple[str, ...]  # files that were too large to travel
    node: str


_LOOK_EVERY = 0.2  # seconds; a cluster's cancellation does not end a blocking call


def run_on_node(errand: RemoteAttempt) -> RemoteResult:
    """Make one try in this process; a KeyboardInterrupt cuts it off, and it is recorded so.

    Raises:
        UnavailableError: the node cannot make it: its sandbox, its disk, its agentbench or its key.
    """
    orders = errand.orders
    if orders.agentbench_version != __version__:
        raise UnavailableError(
            f"{platform.node()}: has agentbench {__version__}, the run has "
            f"{orders.agentbench_version}; install the same on every node"
        )
    cache_dir = usable_cache_dir()
    options = RunOptions(
        agent=orders.agent,
        agent_command=orders.agent_command,
        sandbox=orders.sandbox,
        use_cache=orders.use_cache,
        registry=orders.registry,
        timeout_scale=orders.timeout_scale,
        integrity_controls=orders.integrity_controls,
        attempt_timeout=orders.attempt_timeout,
        cache_dir=cache_dir,
    )
    provider = _provider(orders.sandbox, cache_dir)
    with owned_folder("agentbench-attempt-") as scratch:
        folder = scratch / "attempt"
        folder.mkdir()
        record = _run_attempt(errand, options, provider, folder)
        packed = pack(folder)
    return RemoteResult(
        record=record, files=packed.content, left_out=packed.left_out, node=platform.node()
    )


@cache
def _provider(sandbox: str, cache_dir: Path) -> SandboxProvider:
    """This node's back end; what killed runs left on it is removed first, once per process."""
    options = RunOptions(sandbox=sandbox, cache_dir=cache_dir)
    provider = select_sandbox(options).provider
    report_removed_orphans(options, provider)
    return provider


def _run_attempt(
    errand: RemoteAttempt, options: RunOptions, provider: SandboxProvider, folder: Path
) -> AttemptRecord:
    task = unpack_task(errand.task, errand.files, options.cache_dir)
    agent = agent_of(options, [task])
    gateway = gateway_of_process(errand.orders.model, agent, options.cache_dir)
    workshop = replace(resources_of(options, provider), gateway=gateway)
    place = AttemptSlot(
        folder=folder,
        run_id=errand.orders.run_id,
        attempt=errand.attempt,
        retry_of=errand.retry_of,
    )
    try:
        return _cut_off_by_interrupt(
            lambda: run_pipeline(task, agent, workshop, place), workshop.cancel
        )
    finally:
        workshop.aside.finish()  # the worker may be ended as soon as it has nothing to do


def _cut_off_by_interrupt(work: Callable[[], AttemptRecord], cancel: Event) -> AttemptRecord:
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(work)
        while True:
            try:
                return future.result(timeout=_LOOK_EVERY)
            except TimeoutError:
                if future.done():
                    raise
            except KeyboardInterrupt:
                cancel.set()
