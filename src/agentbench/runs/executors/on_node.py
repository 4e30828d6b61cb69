"""What a node of a cluster does: one try at an attempt, with its own cache and its own engine."""

import platform
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Event

from agentbench import __version__
from agentbench.errors import UnavailableError
from agentbench.owned_folder import owned_folder
from agentbench.runs.attempt import walk
from agentbench.runs.executors.baggage import pack
from agentbench.runs.executors.errand import Brought, Errand
from agentbench.runs.executors.node_model import gateway_here
from agentbench.runs.executors.task_files import unpacked_task
from agentbench.runs.options import RunOptions
from agentbench.runs.parts import agent_of, chosen_sandbox, clear_up, workshop_of
from agentbench.runs.places import usable_cache_dir
from agentbench.runs.record import AttemptRecord
from agentbench.runs.workshop import Place
from agentbench.sandbox.interface import SandboxProvider

_LOOK_EVERY = 0.2  # seconds; a cluster's cancellation does not end a blocking call


def make_on_node(errand: Errand) -> Brought:
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
    provider = _connected(orders.sandbox, cache_dir)
    with owned_folder("agentbench-attempt-") as scratch:
        folder = scratch / "attempt"
        folder.mkdir()
        record = _walked(errand, options, provider, folder)
        packed = pack(folder)
    return Brought(
        record=record, files=packed.content, left_out=packed.left_out, node=platform.node()
    )


@cache
def _connected(sandbox: str, cache_dir: Path) -> SandboxProvider:
    """This node's back end; what killed runs left on it is removed first, once per process."""
    options = RunOptions(sandbox=sandbox, cache_dir=cache_dir)
    provider = chosen_sandbox(options).provider
    clear_up(options, provider)
    return provider


def _walked(
    errand: Errand, options: RunOptions, provider: SandboxProvider, folder: Path
) -> AttemptRecord:
    task = unpacked_task(errand.task, errand.files, options.cache_dir)
    agent = agent_of(options, [task])
    gateway = gateway_here(errand.orders.model, agent, options.cache_dir)
    workshop = replace(workshop_of(options, provider), gateway=gateway)
    place = Place(
        folder=folder,
        run_id=errand.orders.run_id,
        attempt=errand.attempt,
        retry_of=errand.retry_of,
    )
    try:
        return _cut_off_by_interrupt(lambda: walk(task, agent, workshop, place), workshop.cancel)
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
