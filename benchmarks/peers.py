"""Other harnesses beside agentbench: the same task, the same fix, the same engine, in one run.

Each is installed from PyPI into an environment of its own (kept in --envs DIR, if that is given),
gets the task in its own form (peer_tasks/) in a prepared image, and runs as a whole command.
mini-swe-agent grades nothing of its own; none of them runs a baseline, a fresh container for the
tests, or controls. What cannot run on this machine is named with the reason.
Run: python benchmarks/peers.py [--peer NAME ...] [--envs DIR] [--rounds N] [--json FILE]
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from tarfile import open as open_tar

import docker
from environments import QUIET, installed, with_compose
from measuring import MIB, Measure, arguments, child, compared, show
from overhead import Bench
from peer_forms import FORMS, IMAGE, PEERS, SIZES, Peer

_ROOT = Path(__file__).parents[1]


def main() -> None:
    """Take turns and show medians and ratios to each peer."""
    parser = arguments(__doc__)
    names = [peer.name for peer in PEERS]
    parser.add_argument("--peer", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--envs", type=Path, metavar="DIR", help="where they are installed")
    parser.add_argument("--task", type=Path, default=_ROOT / "tasks" / "lru-expiry")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentbench-peers-") as scratch:
        place = Path(scratch)
        envs = (options.envs or place / "envs").absolute()
        chosen = [peer for peer in PEERS if peer.name in options.peer]
        programs = {peer: installed(peer.requirement, peer.python, envs) for peer in chosen}
        there = {peer: found for peer, found in programs.items() if isinstance(found, Path)}
        _prepare(options.task, place, there)
        env = QUIET | {"DOCKER_CONFIG": str(with_compose(envs, place))}
        measures = [row for size in SIZES for row in _measured(there, place, size, env, options)]
    notes = [
        f"{peer.requirement}: not run, since {found}" if isinstance(found, str) else peer.note
        for peer, found in programs.items()
    ]
    facts = {"task": options.task.name, "engine": str(docker.from_env().version()["Version"])}
    show("peers", measures, options, facts=facts, notes=[*filter(None, notes)])


def _prepare(task: Path, place: Path, peers: Iterable[Peer]) -> None:
    """The image of the task, and the task in each one's form."""
    image = place / "image"
    image.mkdir()
    shutil.copy(FORMS / "Dockerfile", image)
    with open_tar(image / "repo.tar", "w") as archive:
        archive.add(task / "repo", ".")
    docker.from_env().images.build(path=str(image), tag=IMAGE, rm=True)
    for patch in ("solution.patch", "tests.patch"):
        shutil.copy(task / patch, place)
    for peer in peers:
        peer.prepare(task, place)


def _measured(
    peers: Mapping[Peer, Path],
    place: Path,
    size: tuple[int, int],
    env: Mapping[str, str],
    options: argparse.Namespace,
) -> list[Measure]:
    attempts, jobs = size
    told = f"{attempts} attempt" if attempts == 1 else f"{attempts} attempts, {jobs} at a time"
    bench = Bench(task=options.task, place=place, archive=place / "unused")
    ours = {
        f"agentbench, {sandbox}, controls {controls}, {told}": bench.agentbench(
            (sandbox, controls), attempts, jobs
        )
        for sandbox, controls in (("docker", "off"), ("docker", "full"), ("bubblewrap", "full"))
    }
    for argv in ours.values():
        child(argv, env=bench.env)  # prepares the task
    taken: dict[str, list[float]] = {}
    memory: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        for name, argv in ours.items():
            ended = child(argv, env=bench.env)
            taken.setdefault(name, []).append(ended.seconds)
            memory.setdefault(name, []).append(ended.peak_bytes / MIB)
        for peer, programs in peers.items():
            name = f"{peer.requirement}, {told}"
            before = peer.solved(place) or 0
            ended = child(peer.line(programs, place, attempts, jobs), env=env)
            if peer.solved(place) not in {None, before + attempts}:
                raise SystemExit(
                    f"{name}: did not solve {attempts}, so its time counts for nothing"
                )
            taken.setdefault(name, []).append(ended.seconds)
            memory.setdefault(name, []).append(ended.peak_bytes / MIB)
    rows = [Measure(name=name, unit="s", values=tuple(seconds)) for name, seconds in taken.items()]
    slower = [
        compared(f"{name}, beside {way}", taken[name], taken[way], unit="s", against=way)
        for name in taken.keys() - ours.keys()
        for way in ours
    ]
    return [
        *rows,
        *sorted(slower, key=lambda row: row.name),
        *(
            Measure(name=f"{name}, peak memory", unit="MB", values=tuple(each))
            for name, each in memory.items()
        ),
    ]


if __name__ == "__main__":
    main()
