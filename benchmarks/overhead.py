"""Overhead: whole agentbench runs against the cheapest raw chain of Docker calls on the same task.

The raw chain (raw_chain.py) makes one container for an attempt, puts the repository with fix and
hidden tests into it, runs pytest and removes it. agentbench does what a verdict takes: the agent's
container, the fresh one of the final test, control runs, a record. All are whole commands from
the start of the interpreter to its end, warm (the task was prepared before, and the byte-code of
modules was written), and take turns.
Beside them: as many containers and pytest runs as such a verdict takes, without a harness.
Run: python benchmarks/overhead.py [--task DIR] [--rounds N] [--json FILE]
"""

import argparse
import compileall
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import docker
from measuring import MIB, Measure, arguments, child, compared, show

from agentbench.test_runs.python_runners import reporter_mounts

Ways = tuple[tuple[str, str], ...]
"""Sandboxes, and whether with control runs."""

_ROOT = Path(__file__).parents[1]
_WAYS = (("docker", "off"), ("docker", "full"), ("bubblewrap", "off"), ("bubblewrap", "full"))
_SIZES = ((1, 1, _WAYS), (8, 4, _WAYS), (40, 4, (("docker", "full"),)))
"""Attempts, how many at a time, and the ways in which they are made."""
_PREPARING = ("git_clone", "git_checkout", "setup", "baseline_run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What is measured, and where its files are."""

    task: Path
    place: Path
    archive: Path

    def raw(self, attempts: int, jobs: int, *, containers: int = 1) -> list[str]:
        """The command of the raw chain."""
        chain = Path(__file__).with_name("raw_chain.py")
        numbers = (attempts, jobs, containers)
        return [sys.executable, str(chain), str(self.archive), *map(str, numbers)]

    def tests_alone(self, runs: int, jobs: int) -> list[str]:
        """The command of so many of the task's own pytest runs, in no sandbox at all."""
        program = Path(__file__).with_name("raw_tests.py")
        return [sys.executable, str(program), str(self.archive), str(runs), str(jobs)]

    def agentbench(self, way: tuple[str, str], attempts: int, jobs: int) -> list[str]:
        """The command of a run, which fails if an attempt is not resolved."""
        sandbox, controls = way
        return [
            sys.executable, "-m", "agentbench", "run", str(self.task), "--agent", "oracle",
            "--sandbox", sandbox,
            "--integrity-controls", controls, "-k", str(attempts), "-j", str(jobs),
            "--runs-dir", str(self.place / "runs"), "--quiet", "--fail-under", "1",
        ]  # fmt: skip

    @property
    def env(self) -> dict[str, str]:
        """A cache of its own."""
        return {"AGENTBENCH_CACHE": str(self.place / "cache")}


def main() -> None:
    """Take turns and show medians and ratios."""
    parser = arguments(__doc__)
    parser.add_argument("--task", type=Path, default=_ROOT / "tasks" / "lru-expiry")
    options = parser.parse_args()
    for mount in reporter_mounts():  # as an installation does
        compileall.compile_dir(mount.source, quiet=2)
    with tempfile.TemporaryDirectory(prefix="agentbench-overhead-") as scratch:
        place = Path(scratch)
        archive = place / "repo.tar"
        archive.write_bytes(_archive(options.task))
        bench = Bench(task=options.task, place=place, archive=archive)
        prepares = [bench.agentbench((way, "full"), 1, 1) for way in ("docker", "bubblewrap")]
        for argv in (*prepares, bench.raw(1, 1), bench.tests_alone(1, 1)):
            child(argv, env=bench.env)  # prepares the task, and writes byte-code
        measures = [row for size in _SIZES for row in _measured(bench, *size, options)]
        again = float(_prepared_again(place))
    measures += [
        Measure(name="preparing stages done by warm runs", unit="", values=(again,)),
        Measure(name="containers left at the end", unit="", values=(float(_left()),)),
    ]
    facts = {"task": options.task.name, "engine": _engine(), "our files are on": _file_system()}
    show("overhead", measures, options, facts=facts)


def _measured(
    bench: Bench, attempts: int, jobs: int, ways: Ways, options: argparse.Namespace
) -> list[Measure]:
    size = f"{attempts} attempt" if attempts == 1 else f"{attempts} attempts, {jobs} at a time"
    raw = f"raw chain, {size}"
    commands = {raw: bench.raw(attempts, jobs)}
    if ways == _WAYS:
        for number in (2, 3):
            name = f"engine alone, {number} containers each, {size}"
            commands[name] = bench.raw(attempts, jobs, containers=number)
        name = f"pytest alone, 2 runs each, {size}"
        commands[name] = bench.tests_alone(2 * attempts, 2 * jobs)
    for way in ways:
        name = f"{way[0]}, controls {way[1]}, {size}"
        commands[name] = bench.agentbench(way, attempts, jobs)
    taken = {name: [] for name in commands}
    for number in range(options.rounds):
        names = list(commands)
        first = number % len(names)
        for name in names[first:] + names[:first]:
            taken[name].append(child(commands[name], env=bench.env))
    base = [each.seconds for each in taken[raw]]
    rows = [
        compared(name, [each.seconds for each in runs], base, unit="s", against=raw)
        for name, runs in taken.items()
    ]
    memory = {name: [each.peak_bytes / MIB for each in runs] for name, runs in taken.items()}
    return rows + [
        compared(f"{name}, peak memory", peaks, memory[raw], unit="MB", against=raw)
        for name, peaks in memory.items()
    ]


def _prepared_again(place: Path) -> int:
    """Stages before the agent that a run did itself, but for the first two runs, which had to."""
    runs = sorted((place / "runs").iterdir(), key=lambda run: run.stat().st_ctime_ns)[2:]
    lines = (line for run in runs for line in (run / "attempts.jsonl").read_text().splitlines())
    stages = (stage for line in lines for stage in json.loads(line)["stages"])
    return sum(stage["name"] in _PREPARING and not stage["cached"] for stage in stages)


def _left() -> int:
    """Containers of ours that are there when all is over."""
    return len(docker.from_env().containers.list(all=True, filters={"label": "agentbench"}))


def _engine() -> str:
    return str(docker.from_env().version()["Version"])


def _file_system() -> str:
    """Of temporary files: on ext4, files that were just removed slow the creation of others."""
    argv = ["stat", "-f", "-c", "%T", tempfile.gettempdir()]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def _archive(task: Path) -> bytes:
    """The repository with the fix and the hidden tests, as one tar."""
    with tempfile.TemporaryDirectory() as scratch:
        repo = Path(scratch) / "repo"
        subprocess.run(["cp", "-r", str(task / "repo"), str(repo)], check=True)
        for patch in ("tests.patch", "solution.patch"):
            source = (task / patch).resolve()
            subprocess.run(["git", "apply", str(source)], check=True, cwd=repo)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            tar.add(repo, "repo", filter=owned)
        return buffer.getvalue()


def owned(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same file, as one of the user that containers run as."""
    member.uid = member.gid = 1000
    return member


if __name__ == "__main__":
    main()
