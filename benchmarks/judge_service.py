"""Scores the changes of judge_many.py through `agentbench serve` with 8 clients: for judge.py.

Prints, as JSON, the number of each verdict by task, the seconds from the first submission to the
last verdict, the peak memory of the service, and the memory that it holds at each verdict.
Run: python benchmarks/judge_service.py TASKS SANDBOX JOBS NUMBER RUNS_DIR
"""

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from judge_many import kind_of, memory_kib, submissions

from agentbench import RemoteJudge, Submission, load_tasks
from agentbench.tasks.task import Task

_CLIENTS = 8


def main() -> None:
    """Start the service, score, and print."""
    folder, sandbox, jobs, number, runs_dir = sys.argv[1:]
    tasks = load_tasks([Path(folder)]).tasks
    command = [
        sys.executable, "-m", "agentbench", "serve", folder, "--sandbox", sandbox, "--jobs", jobs,
        "--runs-dir", runs_dir, "--port", "0", "--no-verdict-cache", "--drain", "10",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        assert service.stderr is not None
        found = re.search(r"http://\S+", service.stderr.readline())
        assert found is not None
        try:
            print(json.dumps(_scored(found[0], service.pid, tasks, int(number))))
        finally:
            service.terminate()


def _scored(url: str, pid: int, tasks: tuple[Task, ...], number: int) -> dict[str, object]:
    counts: Counter[str] = Counter()
    held: list[int] = []

    def client(share: int) -> None:
        """One client with its share of the changes."""
        with RemoteJudge(url) as judge:
            changes = _named(islice(submissions(tasks, number), share, None, _CLIENTS))
            for position, verdict in judge.score_many(changes, ahead=4):
                kind = kind_of(share + position * _CLIENTS, tasks)
                counts[f"{verdict.task_id} {kind} {verdict.reward} {verdict.reason}"] += 1
                held.append(memory_kib(pid, "RssAnon"))

    began = time.perf_counter()
    with ThreadPoolExecutor(_CLIENTS) as pool:
        for done in [pool.submit(client, share) for share in range(_CLIENTS)]:
            done.result()
    return {
        "verdicts": counts,
        "seconds": time.perf_counter() - began,
        "held_kib": held,
        "peak_kib": memory_kib(pid, "VmHWM"),
    }


def _named(changes: Iterator[Submission]) -> Iterator[Submission]:
    """The changes by the ids of their tasks, as clients on other machines name them."""
    for each in changes:
        assert isinstance(each.task, Task)
        yield Submission(task=each.task.id, patch=each.patch)


if __name__ == "__main__":
    main()
