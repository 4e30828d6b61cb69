"""Scores the reference solutions and empty patches of tasks with a judge: for judge.py.

Prints, as JSON, the number of each verdict by task, the seconds, the peak memory, and the memory
that the process holds at each verdict.
Run: python benchmarks/judge_many.py TASKS SANDBOX JOBS NUMBER RUNS_DIR
"""

import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from agentbench import Judge, RunOptions, Submission, load_tasks
from agentbench.tasks.task import Task


def main() -> None:
    """Score and print."""
    folder, sandbox, jobs, number, runs_dir = sys.argv[1:]
    tasks = load_tasks([Path(folder)]).tasks
    options = RunOptions(runs_dir=Path(runs_dir))
    judge = Judge(sandbox=sandbox, jobs=int(jobs), options=options, use_verdicts=False)
    print(json.dumps(asyncio.run(_scored(judge, tasks, int(number)))))


async def _scored(judge: Judge, tasks: tuple[Task, ...], number: int) -> dict[str, object]:
    counts: Counter[str] = Counter()
    held: list[int] = []
    began = time.perf_counter()
    async with judge:
        async for position, verdict in judge.score_many(submissions(tasks, number)):
            kind = kind_of(position, tasks)
            counts[f"{verdict.task_id} {kind} {verdict.reward} {verdict.reason}"] += 1
            held.append(memory_kib(os.getpid(), "RssAnon"))
    return {
        "verdicts": counts,
        "seconds": time.perf_counter() - began,
        "held_kib": held,
        "peak_kib": memory_kib(os.getpid(), "VmHWM"),
    }


def memory_kib(pid: int, kind: str) -> int:
    """The memory of a process: `VmHWM` is its peak, `RssAnon` what it holds without its files."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition(f"{kind}:")[2].split()[0])


def submissions(tasks: tuple[Task, ...], number: int) -> Iterator[Submission]:
    """So many changes: the solutions of all tasks, then an empty patch for each, and so on."""
    for position in range(number):
        task = tasks[position % len(tasks)]
        is_solution = kind_of(position, tasks) == "solution"
        yield Submission(task=task, patch=task.answer_key.solution_patch if is_solution else b"")


def kind_of(position: int, tasks: tuple[Task, ...]) -> str:
    """`solution` or `empty`."""
    return "empty" if position // len(tasks) % 2 else "solution"


if __name__ == "__main__":
    main()
