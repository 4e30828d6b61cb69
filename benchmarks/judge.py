"""The judge: its throughput beside that of a run, its growth, and many sessions that wait.

Both score the same patches of the shipped tasks, the reference solutions and empty ones, with as
many jobs, from the start of the interpreter to its end. The sessions wait for a model that answers
after 5 to 20 seconds. It fails if a verdict is not that of the run.
Run: python benchmarks/judge.py [--sandbox NAME] [--number N] [--sessions N] [--growth N]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import Measure, arguments, compared, show

_ROOT = Path(__file__).parents[1]
_TASKS = _ROOT / "tasks"
_JOBS = 4
_CALLS = 3


def main() -> None:
    """Measure and show."""
    parser = arguments(__doc__)
    parser.add_argument("--sandbox", default="docker")
    parser.add_argument("--number", type=int, default=280)
    parser.add_argument("--sessions", type=int, default=256)
    parser.add_argument("--growth", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentbench-judge-") as scratch:
        place = Path(scratch)
        _run(place, options.sandbox, "oracle", 1)  # prepares the tasks
        measures = [
            *_throughput(place, options),
            *_sessions(place, options),
            _growth(place, options),
        ]
    show("judge", measures, options, facts={"sandbox": options.sandbox})


def _throughput(place: Path, options: argparse.Namespace) -> list[Measure]:
    tasks = len(list(_TASKS.glob("*/task.toml")))
    attempts = max(1, options.number // (2 * tasks))
    number = 2 * tasks * attempts
    began = time.perf_counter()
    expected = [*_run(place, options.sandbox, "oracle", attempts)]
    expected += _run(place, options.sandbox, "noop", attempts)
    run_seconds = time.perf_counter() - began
    began = time.perf_counter()
    found = _child("judge_many.py", _TASKS, options.sandbox, _JOBS, number, place / "runs")
    judge_seconds = time.perf_counter() - began
    if sorted(expected) != sorted(f"{key} {count}" for key, count in found["verdicts"].items()):
        raise SystemExit(f"the verdicts differ:\n{expected}\n{found['verdicts']}")
    run = f"agentbench run, {number} attempts"
    return [
        compared(run, [run_seconds], [run_seconds], unit="s", against=run),
        compared(f"judge, {number} changes", [judge_seconds], [run_seconds], unit="s", against=run),
    ]


def _growth(place: Path, options: argparse.Namespace) -> Measure:
    """What the process holds more after most of many changes, in bubblewrap, which is faster."""
    number = options.growth
    found = _child("judge_many.py", _TASKS, "bubblewrap", _JOBS, number, place / "runs")
    grown = (found["last_peak_kib"] - found["early_peak_kib"]) / 1024
    return Measure(
        name="growth per 1,000 changes, after the first quarter",
        unit="MB",
        values=(grown * 1000 / (number * 3 / 4),),
    )


def _sessions(place: Path, options: argparse.Namespace) -> list[Measure]:
    sessions = options.sessions
    found = _child(
        "judge_sessions.py", _TASKS / "lru-expiry", options.sandbox, _JOBS, sessions, _CALLS, 5, 20,
        place / "runs",
    )  # fmt: skip
    if found["verdicts"] != {"1.0 None": sessions}:
        raise SystemExit(f"expected {sessions} resolved sessions, found {found['verdicts']}")
    added = found["added"]
    grown = (found["peak_kib"] - found["before_kib"]) / 1024
    return [
        Measure(
            name=f"{sessions} sessions, added latency of a model call, p99",
            unit="ms",
            values=(added[int(len(added) * 0.99)] * 1000,),
        ),
        Measure(name="the same, median", unit="ms", values=(added[len(added) // 2] * 1000,)),
        Measure(
            name=f"{sessions} sessions, peak memory", unit="MB", values=(found["peak_kib"] / 1024,)
        ),
        Measure(name="growth per waiting session", unit="MB", values=(grown / sessions,)),
    ]


def _run(place: Path, sandbox: str, agent: str, attempts: int) -> list[str]:
    """A run's verdicts by task, each with its number, as judge_many.py prints them."""
    kind = {"oracle": "solution", "noop": "empty"}[agent]
    argv = [
        sys.executable, "-m", "agentbench", "run", str(_TASKS), "--agent", agent, "-k",
        str(attempts), "-j", str(_JOBS), "--sandbox", sandbox, "--runs-dir", str(place / "runs"),
        "--json", "--quiet",
    ]  # fmt: skip
    done = subprocess.run(
        argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_env(place), check=False
    )
    counts: dict[str, int] = {}
    for attempt in json.loads(done.stdout)["attempts"]:
        reward = 1.0 if attempt["resolved"] else 0.0
        key = f"{attempt['task_id']} {kind} {reward} {attempt['failure_reason']}"
        counts[key] = counts.get(key, 0) + 1
    return [f"{key} {count}" for key, count in counts.items()]


def _child(program: str, *words: object) -> dict[str, object]:
    argv = [sys.executable, str(Path(__file__).with_name(program)), *map(str, words)]
    place = Path(str(words[-1])).parent
    done = subprocess.run(argv, stdout=subprocess.PIPE, env=_env(place), check=True)
    document: dict[str, object] = json.loads(done.stdout)
    return document


def _env(place: Path) -> dict[str, str]:
    return {**os.environ, "AGENTBENCH_CACHE": str(place / "cache")}


if __name__ == "__main__":
    main()
