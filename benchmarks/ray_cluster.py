"""A Ray cluster of two nodes on this machine: what an attempt costs beside a local thread.

1,000 attempts that do nothing, by the same scheduler into the same kind of run folder, records on
disk: once in local threads, once on two nodes. Then, with --attempts N, as many real ones of the
agent `noop` at a small task, in plain processes, both ways. Both sides share the cores of one
machine here, so the difference is what the cluster adds, and nothing is gained by two nodes.

Needs the extra `ray`.
Run: python benchmarks/ray_cluster.py [--rounds N] [--attempts N] [--json FILE]
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from threading import Event

sys.path.insert(0, str(Path(__file__).parent))
from measuring import arguments, compared, show

from agentbench import __version__
from agentbench.agents.reference import NoopAgent
from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.attempt.record import AttemptRecord, EnvironmentRecord, RunId, TimingRecord
from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.extensions.ray.remote_attempt import (
    RemoteAttempt,
    RemoteResult,
    WorkerConfig,
    pack,
)
from agentbench.runs.executors import Executor
from agentbench.runs.executors.local import LocalAttempts, LocalExecutor
from agentbench.runs.plan import Plan, PlannedAttempt
from agentbench.runs.scheduler import Capacity, Schedule, run_attempts
from agentbench.runs.store.store import RunStore
from agentbench.sandbox.process.provider import ProcessProvider
from agentbench.scoring.expectation import ExpectedTests
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task

_SMALL = Path(__file__).parents[1] / "tasks" / "lru-expiry"
_NOTHING = 1_000
_JOBS = 4
_NODES = 2


def main() -> None:
    """Take turns and print milliseconds per attempt."""
    parser = arguments(__doc__)
    parser.add_argument("--attempts", type=int, default=0, metavar="N", help="real ones, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentbench-ray-") as scratch:
        os.environ["AGENTBENCH_CACHE"] = f"{scratch}/cache"
        _measure(options, Path(scratch))


def _measure(options: argparse.Namespace, scratch: Path) -> None:
    began = time.perf_counter()
    _start_cluster()
    up = time.perf_counter() - began
    task = load_task(_SMALL, mirrors=Mirrors(scratch / "cache" / "mirrors"))
    bench = _Bench(task, scratch)
    kinds = {"does nothing": (_NOTHING, _nothing), "noop agent": (options.attempts, None)}
    measures = []
    for kind, (count, make) in kinds.items():
        if not count:
            continue
        for warm_up in (bench.local, bench.cluster):
            warm_up(_JOBS * 2, make)
        taken: dict[str, list[float]] = {"local": [], "cluster": []}
        for _ in range(options.rounds):
            taken["local"].append(bench.local(count, make))
            taken["cluster"].append(bench.cluster(count, make))
        base = f"{kind}, local"
        measures += [
            compared(f"{kind}, {side}", values, taken["local"], unit="ms", against=base)
            for side, values in taken.items()
        ]
    notes = [
        f"ms per attempt, {_JOBS} at a time, records on disk; cluster of {_NODES} nodes up in "
        f"{up:.1f} s",
    ]
    show("ray_cluster", measures, options, notes=notes)


def _start_cluster() -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # as local attempts are
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    cluster.add_node(num_cpus=0, object_store_memory=80 << 20, include_dashboard=False)
    for _ in range(_NODES):
        cluster.add_node(
            num_cpus=_JOBS, resources={"agentbench": _JOBS // _NODES}, object_store_memory=80 << 20
        )
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")


class _Bench:
    """One task, tried by either executor."""

    def __init__(self, task: Task, scratch: Path) -> None:
        self._task = task
        self._scratch = scratch
        cache = scratch / "cache"
        provider = ProcessProvider.connect(cache_dir=cache)
        self._shop = RunResources(
            provider=provider,
            mirrors=Mirrors(cache / "mirrors"),
            cache=PreparationCache(cache / "prepared", provider),
            cancel=Event(),
        )
        self._worker = WorkerConfig(
            run_id=RunId("bench"),
            agentbench_version=__version__,
            agent="noop",
            sandbox="process",
            settings=RunSettings(),
        )

    def local(self, count: int, make: Callable[[RemoteAttempt], RemoteResult] | None) -> float:
        store = self._store()
        tries = LocalAttempts(
            run_id=RunId("bench"), agent=NoopAgent(), resources=self._shop, store=store
        )
        remote = RemoteAttempt(
            worker=self._worker, task=self._task, files=b"", attempt=1, retry_of=None
        )

        def nothing(planned: PlannedAttempt) -> AttemptRecord:
            assert make is not None
            folder, _ = store.attempt_folder(planned.task.id, planned.attempt)
            record = make(replace(remote, attempt=planned.attempt)).record
            store.append(record, folder)
            return record

        work = tries.make if make is None else nothing
        return self._timed(LocalExecutor(work, jobs=_JOBS), count)

    def cluster(self, count: int, make: Callable[[RemoteAttempt], RemoteResult] | None) -> float:
        from agentbench.extensions.ray.ray_cluster import RayExecutor

        more = {} if make is None else {"make": make}
        executor = RayExecutor(self._worker, NoopAgent(), self._shop, self._store(), **more)
        return self._timed(executor, count)

    def _store(self) -> RunStore:
        return RunStore(Path(tempfile.mkdtemp(dir=self._scratch)))

    def _timed(self, executor: Executor, count: int) -> float:
        schedule = Schedule(
            jobs=_JOBS,
            retries=0,
            capacity=Capacity(cpus=inf, memory_mib=inf),
            cancel=self._shop.cancel,
        )
        began = time.perf_counter()
        made = sum(1 for _ in run_attempts(Plan([self._task], count), executor, schedule))
        assert made == count
        return (time.perf_counter() - began) * 1000 / count


def _nothing(remote: RemoteAttempt) -> RemoteResult:
    """What an attempt brings back that did nothing."""
    with tempfile.TemporaryDirectory() as empty:
        packed = pack(Path(empty))
    record = AttemptRecord(
        run_id=remote.worker.run_id,
        task_id=remote.task.id,
        attempt=remote.attempt,
        agent="noop",
        task_digest=remote.task.digest,
        started_at=datetime.now(UTC),
        resolved=False,
        quarantined=False,
        failure_reason=None,
        fault=None,
        expected=ExpectedTests(),
        timing=TimingRecord(total_s=0.0),
        environment=EnvironmentRecord(sandbox="none", cpus=1, memory_mib=1, pids=1, disk_mib=1),
    )
    return RemoteResult(record=record, files=packed, node="none")


if __name__ == "__main__":
    main()
