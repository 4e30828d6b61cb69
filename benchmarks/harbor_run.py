"""Harbor's own `harbor run` against agentbench, on the same Harbor tasks.

Both sides judge the tasks' solutions (agent `oracle`), first one task, then all of them, two at a
time. Each measures one whole command. Both are warm: a first run of each is not measured. It builds
the images of both sides, and keeps agentbench's baselines. Harbor gets `--no-delete`, so that it
keeps its images; it creates and removes its containers in each run, as agentbench does. A solution
without the reward 1 ends the benchmark, on either side.
Run: python benchmarks/harbor_run.py HARBOR [TASK ...] [--rounds N] [--json FILE]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import docker
from measuring import arguments, child, show, take_turns

_CORPUS = Path(__file__).parents[1] / "tests" / "extensions" / "harbor" / "harbor_corpus"
_TASKS = ("01-reward-text", "02-root-system", "10-web-database")
_JOBS = 2
_IDLE = 0.5  # a load that needs no note
_QUIET = {"HARBOR_TELEMETRY": "0"}


def main() -> None:
    """Take turns and show medians and ratios."""
    parser = arguments(__doc__)
    parser.add_argument("harbor", help="the path of Harbor's command")
    default = [_CORPUS / name for name in _TASKS]
    parser.add_argument("tasks", type=Path, nargs="*", default=default, help="folders of tasks")
    options = parser.parse_args()
    load = os.getloadavg()[1]
    with tempfile.TemporaryDirectory(prefix="agentbench-harbor-") as scratch:
        both = _Sides(options, Path(scratch))
        variants: dict[str, Callable[[], float]] = {}
        for size, tasks in (("1 task", "one"), (f"{len(options.tasks)} tasks, 2 at a time", "all")):
            variants[f"harbor run, {size}"] = lambda tasks=tasks: both.harbor(tasks)
            variants[f"agentbench run, {size}"] = lambda tasks=tasks: both.ours(tasks)
        take_turns(variants, 1)
        measures = take_turns(variants, options.rounds)
    shown = [
        each.against_measure(ours)
        for harbors, ours in zip(measures[::2], measures[1::2], strict=True)
        for each in (ours, harbors)
    ]
    facts = {
        "harbor": subprocess.check_output([options.harbor, "--version"], text=True).strip(),
        "engine": str(docker.from_env().version()["Version"]),
    }
    note = (
        f"Other programs ran at the same time: the load of the machine was {load:.1f} in the five "
        f"minutes before, and {os.getloadavg()[1]:.1f} in the last five minutes of the benchmark."
    )
    show("harbor_run", shown, options, facts=facts, notes=[note] if load > _IDLE else [])


@dataclass
class _Sides:
    """Both sides, with the first task and with all tasks."""

    options: argparse.Namespace
    scratch: Path

    def __post_init__(self) -> None:
        self._sizes = {"one": 1, "all": len(self.options.tasks)}
        for size, number in self._sizes.items():
            for task in self.options.tasks[:number]:
                shutil.copytree(task, self.scratch / "theirs" / size / task.name)
            self._agentbench(
                "tasks", "import", "harbor", f"theirs/{size}", "--no-prove", "--out", f"ours/{size}"
            )

    def harbor(self, size: str) -> float:
        """Judge the tasks with Harbor."""
        job = uuid4().hex
        argv = [
            self.options.harbor, "run", "-p", f"theirs/{size}", "-a", "oracle", "-o", "jobs",
            "--job-name", job, "-n", str(_JOBS), "--no-delete", "-y", "-q",
        ]  # fmt: skip
        seconds = self._command(argv)
        results = (
            json.loads(path.read_text()) for path in self.scratch.glob(f"jobs/{job}/*/result.json")
        )
        self._check("harbor", size, ((each["verifier_result"] or {}) for each in results))
        return seconds

    def ours(self, size: str) -> float:
        """Judge the tasks with agentbench."""
        run_id = uuid4().hex
        seconds = self._agentbench(
            "run", f"ours/{size}", "--agent", "oracle", "-j", str(_JOBS), "--run-id", run_id
        )
        lines = (self.scratch / "runs" / run_id / "attempts.jsonl").read_text().splitlines()
        self._check("agentbench", size, map(json.loads, lines))
        return seconds

    def _agentbench(self, *words: str) -> float:
        return self._command([sys.executable, "-m", "agentbench", *words, "-q"])

    def _command(self, argv: list[str]) -> float:
        cache = {"AGENTBENCH_CACHE": str(self.scratch / "cache")}
        return child(["env", "-C", str(self.scratch), *argv], env=_QUIET | cache).seconds

    def _check(self, side: str, size: str, judged: Iterable[dict[str, object]]) -> None:
        rewards = [each.get("rewards") for each in judged]
        if rewards != [{"reward": 1.0}] * self._sizes[size]:
            raise SystemExit(f"{side}: rewards {rewards}, expected 1 for each task")


if __name__ == "__main__":
    main()
