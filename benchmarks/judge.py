"""The judge and its service: their throughput beside that of a run, growth, sessions that wait.

All score the same patches of the shipped tasks, the reference solutions and empty ones, with as
many jobs; the service has 8 clients. The sessions wait for a model that answers after 5 to 20
seconds. It fails if a verdict is not that of the run, or if a change has none.
Run: python benchmarks/judge.py [--sandbox NAME] [--sessions-sandbox NAME] [--number N]
    [--changes N] [--sessions N]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from measuring import Measure, arguments, compared, show

_ROOT = Path(__file__).parents[1]
_TASKS = _ROOT / "tasks"
_JOBS = 4
_CALLS = 3


def main() -> None:
    """Measure and show."""
    parser = arguments(__doc__, rounds=1)
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--sessions-sandbox", default="docker")
    parser.add_argument("--number", type=int, default=280)
    parser.add_argument("--sessions", type=int, default=256)
    parser.add_argument("--changes", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentbench-judge-") as scratch:
        place = Path(scratch)
        _run(place, options.sandbox, "oracle", 1)  # prepares the tasks
        measures = [*_throughput(place, options), *_sessions(place, options)]
    facts = {"sandbox": options.sandbox, "sandbox of sessions": options.sessions_sandbox}
    show("judge", measures, options, facts=facts)


def _throughput(place: Path, options: argparse.Namespace) -> list[Measure]:
    """The seconds per 100 changes, and what the processes hold more after most of them."""
    tasks = len(list(_TASKS.glob("*/task.toml")))
    attempts = max(1, options.number // (2 * tasks))
    began = time.perf_counter()
    expected = _run(place, options.sandbox, "oracle", attempts)
    expected |= _run(place, options.sandbox, "noop", attempts)
    number = 2 * tasks * attempts
    run_seconds = (time.perf_counter() - began) / number * 100
    run = f"agentbench run, {number} attempts"
    measures = [compared(run, [run_seconds], [run_seconds], unit="s per 100", against=run)]
    for name, program in (("judge", "judge_many.py"), ("service, 8 clients", "judge_service.py")):
        changes = options.changes
        found = _child(program, _TASKS, options.sandbox, _JOBS, changes, place / "runs")
        counts = dict(found["verdicts"])
        if {*counts} != expected or sum(counts.values()) != changes:
            raise SystemExit(f"{name}: the verdicts differ:\n{expected}\n{counts}")
        seconds = [found["seconds"] / changes * 100]
        title = f"{name}, {changes} changes"
        measures.append(compared(title, seconds, [run_seconds], unit="s per 100", against=run))
        measures += [
            Measure(
                name=f"{name}, growth per 1,000 changes, after the first quarter",
                unit="MB",
                values=(_growth_kib(found["held_kib"]) * 1000 / 1024,),
            ),
            Measure(name=f"{name}, peak memory", unit="MB", values=(found["peak_kib"] / 1024,)),
        ]
    return measures


def _growth_kib(held: list[int]) -> float:
    """By how much the memory grew per change, from after the first quarter to the end.

    Attempts that happen to coincide raise single values, and so the peak. These are medians of a
    twentieth of the values.
    """
    share, quarter = len(held) // 20, len(held) // 4
    early, late = held[quarter : quarter + share], held[-share:]
    return (median(late) - median(early)) / (len(held) - quarter - share)


def _sessions(place: Path, options: argparse.Namespace) -> list[Measure]:
    sessions = options.sessions
    found = _child(
        "judge_sessions.py", _TASKS / "lru-expiry", options.sessions_sandbox, _JOBS, sessions,
        _CALLS, 5, 20, place / "runs",
    )  # fmt: skip
    if found["verdicts"] != {"1.0 None": sessions}:
        raise SystemExit(f"expected {sessions} resolved sessions, found {found['verdicts']}")
    added, alone = found["added"], found["without_sessions"]
    grown = (found["peak_kib"] - found["before_kib"]) / 1024
    return [
        Measure(
            name=f"{sessions} sessions, added latency of a model call, p99",
            unit="ms",
            values=(added[int(len(added) * 0.99)] * 1000,),
        ),
        Measure(
            name="the same calls without sessions, p99",
            unit="ms",
            values=(alone[int(len(alone) * 0.99)] * 1000,),
        ),
        Measure(name="with sessions, median", unit="ms", values=(added[len(added) // 2] * 1000,)),
        Measure(
            name=f"{sessions} sessions, peak memory", unit="MB", values=(found["peak_kib"] / 1024,)
        ),
        Measure(name="growth per waiting session", unit="MB", values=(grown / sessions,)),
    ]


def _run(place: Path, sandbox: str, agent: str, attempts: int) -> set[str]:
    """A run's verdicts by task, as judge_many.py prints them."""
    kind = {"oracle": "solution", "noop": "empty"}[agent]
    argv = [
        sys.executable, "-m", "agentbench", "run", str(_TASKS), "--agent", agent, "-k",
        str(attempts), "-j", str(_JOBS), "--sandbox", sandbox, "--runs-dir", str(place / "runs"),
        "--json", "--quiet",
    ]  # fmt: skip
    done = subprocess.run(
        argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_env(place), check=False
    )
    found = set()
    for attempt in json.loads(done.stdout)["attempts"]:
        reward = 1.0 if attempt["resolved"] else 0.0
        found.add(f"{attempt['task_id']} {kind} {reward} {attempt['failure_reason']}")
    return found


def _child(program: str, *words: object) -> dict[str, Any]:
    argv = [sys.executable, str(Path(__file__).with_name(program)), *map(str, words)]
    place = Path(str(words[-1])).parent
    done = subprocess.run(argv, stdout=subprocess.PIPE, env=_env(place), check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _env(place: Path) -> dict[str, str]:
    return {**os.environ, "AGENTBENCH_CACHE": str(place / "cache")}


if __name__ == "__main__":
    main()
