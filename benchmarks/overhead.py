"""Overhead: agentbench against the cheapest raw chain of Docker calls on the same task.

The raw chain makes one container, puts the repository with fix and hidden tests into it, runs
pytest and removes it: no baseline, no fresh container, no report. agentbench does all its six
stages, whole command, once cold (nothing prepared) and then warm. Both take turns in one run, so
the ratios hold although seconds drift. Run: python benchmarks/overhead.py [TASK] [ROUNDS]
"""

import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import docker

_ROOT = Path(__file__).parents[1]
_IMAGE = "agentbench/python"


def main() -> None:
    """Take turns and print medians and ratios."""
    task = Path(sys.argv[1]) if len(sys.argv) > 1 else _ROOT / "tasks" / "lru-expiry"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    client = docker.from_env()
    image = client.images.list(_IMAGE)[0].id
    archive = _archive(task)
    taken: dict[str, list[float]] = {"raw chain": [], "docker": [], "bubblewrap": []}
    with tempfile.TemporaryDirectory(prefix="agentbench-overhead-") as scratch:
        place = Path(scratch)
        cold = {name: _timed(_agentbench(task, name, place)) for name in ("docker", "bubblewrap")}
        for _ in range(rounds):
            taken["raw chain"].append(_timed(lambda: _raw_chain(client, image, archive, task)))
            for name in ("docker", "bubblewrap"):
                taken[name].append(_timed(_agentbench(task, name, place)))
    raw = statistics.median(taken["raw chain"])
    print(f"task {task.name}, {rounds} rounds, medians of whole commands")
    print(f"{'raw chain, one container':<34} {raw:6.2f} s   1.00 x")
    for name in ("docker", "bubblewrap"):
        warm = statistics.median(taken[name])
        print(f"{'agentbench, warm, ' + name:<34} {warm:6.2f} s  {warm / raw:5.2f} x")
        print(f"{'agentbench, cold, ' + name:<34} {cold[name]:6.2f} s  {cold[name] / raw:5.2f} x")


def _timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _raw_chain(client: "docker.DockerClient", image: str, archive: bytes, task: Path) -> None:
    command = ["python", "-m", "pytest", "-q", "tests"]
    container = client.containers.run(
        image, ["sleep", "600"], detach=True, network_mode="none", init=True, user="1000:1000",
        labels={"agentbench-benchmark": task.name},
    )  # fmt: skip
    try:
        container.put_archive("/tmp", archive)
        code, output = container.exec_run(command, workdir="/tmp/repo")
        if code != 0:
            raise SystemExit(f"the raw chain's tests exited {code}:\n{output.decode()}")
    finally:
        container.remove(force=True)


def _agentbench(task: Path, sandbox: str, place: Path) -> Callable[[], None]:
    def run() -> None:
        subprocess.run(
            [sys.executable, "-m", "agentbench", "run", str(task), "--sandbox", sandbox,
             "--runs-dir", str(place / "runs"), "--quiet", "--fail-under", "1"],
            check=True,
            env={**os.environ, "AGENTBENCH_CACHE": str(place / "cache")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    return run


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
            tar.add(repo, "repo", filter=_owned)
        return buffer.getvalue()


def _owned(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 1000
    return member


if __name__ == "__main__":
    main()
