"""Scores the reference solutions and empty patches of tasks with a judge: for judge.py.

Prints, as JSON, the number of each verdict by task, and the peak memory after some of them.
Run: python benchmarks/judge_many.py TASKS SANDBOX JOBS NUMBER RUNS_DIR
"""

import asyncio
import json
import resource
import sys
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
    peaks: list[int] = []
    async with judge:
        async for position, verdict in judge.score_many(_submissions(tasks, number)):
            kind = "solution" if _is_solution(position, tasks) else "empty"
            counts[f"{verdict.task_id} {kind} {verdict.reward} {verdict.reason}"] += 1
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    quarter = len(peaks) // 4
    return {"verdicts": counts, "early_peak_kib": peaks[quarter], "last_peak_kib": peaks[-1]}


def _submissions(tasks: tuple[Task, ...], number: int) -> Iterator[Submission]:
    for position in range(number):
        task = tasks[position % len(tasks)]
        solution = task.answer_key.solution_patch
        yield Submission(task=task, patch=solution if _is_solution(position, tasks) else b"")


def _is_solution(position: int, tasks: tuple[Task, ...]) -> bool:
    """Whether it is the turn of the solutions; they take turns with empty patches."""
    return position // len(tasks) % 2 == 0


if __name__ == "__main__":
    main()
