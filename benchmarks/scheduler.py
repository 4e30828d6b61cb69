"""The scheduler: seconds and memory per attempt, at 1,000 and at 100,000 attempts that do nothing.

Dry: planning, choosing whose turn it is, counting cores and memory, handing an attempt to a thread
and taking its record back. No sandbox, no process, and nothing on disk but for a line of each
attempt's duration. What a record on disk adds (a folder and two files, all of which survive a power
cut) is measured apart, on as many attempts as are bearable; with no attempt at all, a bare pool of
threads shows what handing work to threads costs in this Python.

Each turn is a process of its own, so that its peak memory is its own.

Run: python benchmarks/scheduler.py [--rounds N] [--json FILE]
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event

sys.path.insert(0, str(Path(__file__).parent))
from measuring import MIB, Measure, arguments, child, compared, show

_FEW, _MANY = 1_000, 100_000
_ATTEMPTS = 5  # per task
_JOBS = 4
_ON_DISK = 1_000
_PROMISED_MS = 2.0


def main() -> None:
    """Take turns and print milliseconds per attempt and peak memory."""
    options = arguments(__doc__).parse_args()
    variants = {
        "bare pool, 100,000": ("bare", _MANY),
        "scheduler, 1,000": ("dry", _FEW),
        "scheduler, 100,000": ("dry", _MANY),
        "with records on disk, 1,000": ("disk", _ON_DISK),
    }
    spent: dict[str, list[float]] = {name: [] for name in variants}
    held: dict[str, list[float]] = {"tasks alone, 20,000": []} | {name: [] for name in variants}
    for _ in range(options.rounds):
        held["tasks alone, 20,000"].append(_peak("tasks", _MANY)[1])
        for name, (kind, count) in variants.items():
            milliseconds, mib = _peak(kind, count)
            spent[name].append(milliseconds)
            held[name].append(mib)
    base = spent["scheduler, 1,000"]
    times = [
        compared(name, values, base, unit="ms", against="scheduler, 1,000")
        for name, values in spent.items()
    ]
    memory = [
        Measure(name=f"peak memory: {name}", unit="MiB", values=tuple(values))
        for name, values in held.items()
    ]
    worst = max(max(spent["scheduler, 1,000"]), max(spent["scheduler, 100,000"]))
    kept = "kept" if worst <= _PROMISED_MS else "NOT kept"
    notes = [
        f"per attempt, {_JOBS} at a time, {_ATTEMPTS} per task; the rows in ms are per attempt",
        f"promised: at most {_PROMISED_MS:.0f} ms at both sizes, and linear: {kept} "
        f"(worst {worst:.3f} ms)",
    ]
    show("scheduler", [*times, *memory], options, notes=notes)


def _peak(kind: str, count: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="agentbench-scheduler-") as scratch:
        answer = Path(scratch) / "milliseconds"
        argv = [sys.executable, __file__, "--turn", kind, str(count), scratch, str(answer)]
        ended = child(argv, env={"PYTHONHASHSEED": "0"})
        return float(answer.read_text()), ended.peak_bytes / MIB


def _turn(kind: str, count: int, scratch: Path) -> float:
    """Make so many attempts; the milliseconds that each took."""
    if kind == "bare":
        return _timed(lambda: _bare(count)) / count
    tasks = _tasks(count // _ATTEMPTS)
    if kind == "tasks":
        return 0.0
    return _timed(lambda: _scheduled(tasks, scratch, on_disk=kind == "disk")) / count


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def _bare(count: int) -> None:
    with ThreadPoolExecutor(_JOBS) as pool:
        for _ in range(count // _JOBS):
            for future in [pool.submit(int) for _ in range(_JOBS)]:
                future.result()


def _scheduled(tasks: "list[Task]", scratch: Path, *, on_disk: bool) -> None:
    durations = AttemptDurations(scratch, agent="noop", model=None, provider="none")
    known = durations.known(tasks)
    ordered = in_order(tasks, expected=lambda task: known.get(task.id))
    plan = Plan(ordered, _ATTEMPTS, known=known.keys())
    (scratch / "run").mkdir()
    make = partial(_kept, RunStore(scratch / "run")) if on_disk else _record
    schedule = Schedule(
        jobs=_JOBS,
        retries=0,
        capacity=Capacity.of_host(tasks, _JOBS),
        cancel=Event(),
        is_prepared=plan.knows,
        on_end=durations.note,
    )
    made = sum(1 for _ in run_attempts(plan, LocalExecutor(make, jobs=_JOBS), schedule))
    assert made == len(plan) == len(tasks) * _ATTEMPTS


def _kept(store: "RunStore", planned: "PlannedAttempt") -> "AttemptRecord":
    folder, _ = store.attempt_folder(planned.task.id, planned.attempt)
    record = _record(planned)
    store.append(record, folder)
    return record


def _record(planned: "PlannedAttempt") -> "AttemptRecord":
    task = planned.task
    return AttemptRecord(
        run_id=RunId("dry"),
        task_id=task.id,
        attempt=planned.attempt,
        agent="noop",
        task_digest=task.digest,
        started_at=datetime.now(UTC),
        resolved=False,
        quarantined=False,
        failure_reason=None,
        fault=None,
        expected=ExpectedTests(),
        timing=TimingRecord(total_s=1.0),
        environment=EnvironmentRecord(sandbox="none", cpus=1, memory_mib=1, pids=1, disk_mib=1),
    )


def _tasks(count: int) -> "list[Task]":
    """Tasks of a hundred repositories; 4 KiB of patches each, as tasks have them."""
    return [
        Task(
            problem=Problem(
                id=TaskId(f"task-{number}"),
                title="nothing",
                instruction="Do nothing.",
                test_command="true",
                test_timeout_s=60.0,
            ),
            answer_key=AnswerKey(
                tests_patch=os.urandom(2048),
                solution_patch=os.urandom(2048),
                fail_to_pass=("tests/test_it.py::test_it",),
            ),
            folder=Path(f"/tasks/{number}"),
            source=RepoSource(url=f"https://host.example/{number % 100}", commit=f"{number:040x}"),
            environment=TaskEnvironment(memory_mib=1),
            digest=f"{number:064x}",
        )
        for number in range(count)
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--turn"]:
        from agentbench.attempt.record import AttemptRecord, EnvironmentRecord, RunId, TimingRecord
        from agentbench.runs.executors.local import LocalExecutor
        from agentbench.runs.plan import AttemptDurations, Plan, PlannedAttempt, in_order
        from agentbench.runs.scheduler import Capacity, Schedule, run_attempts
        from agentbench.runs.store.store import RunStore
        from agentbench.scoring.expectation import ExpectedTests
        from agentbench.tasks.problem import Problem, TaskId
        from agentbench.tasks.task import AnswerKey, RepoSource, Task, TaskEnvironment

        took = _turn(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
        Path(sys.argv[5]).write_text(f"{took}")
    else:
        main()
