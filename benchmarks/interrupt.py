"""Ctrl-C: seconds from one press, with attempts under way, until the program has ended.

By then every record is on disk and nothing is left of any attempt: both are looked at. Beside it,
in the same round, how long the SDK takes to remove as many plain containers, from as many threads:
what the engine itself needs. Run: python benchmarks/interrupt.py [ATTEMPTS] [ROUNDS]
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker

_ROOT = Path(__file__).parents[1]
_TASK = _ROOT / "tasks" / "lru-expiry"
_AGENT = "echo at work; sleep 600"
_TARGET = 5.0  # seconds


def main() -> None:
    """Take turns and print medians, the worst, and the ratio to the engine's own time."""
    attempts = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    client = docker.from_env()
    image = client.images.list("agentbench/python")[0].id
    taken: dict[str, list[float]] = {"raw removal": [], "docker": [], "bubblewrap": []}
    with tempfile.TemporaryDirectory(prefix="agentbench-interrupt-") as scratch:
        for number in range(rounds):
            taken["raw removal"].append(_raw_removal(client, image, attempts))
            for name in ("docker", "bubblewrap"):
                taken[name].append(_interrupted(name, attempts, Path(scratch), number))
    raw = statistics.median(taken["raw removal"])
    print(f"{attempts} attempts at a time, {rounds} rounds: median, worst, ratio of medians")
    for name, seconds in taken.items():
        median = statistics.median(seconds)
        print(f"{name:<14} {median:6.2f} s  {max(seconds):6.2f} s  {median / raw:5.2f} x")
    worst = max(*taken["docker"], *taken["bubblewrap"])
    print(f"worst of both back ends: {worst:.2f} s (target: within {_TARGET:.0f})")


def _interrupted(sandbox: str, attempts: int, place: Path, number: int) -> float:
    run = place / "runs" / f"{sandbox}-{number}"
    command = [
        sys.executable, "-m", "agentbench", "run", str(_TASK), "--sandbox", sandbox,
        "--agent", "command", "--agent-command", _AGENT, "-k", str(attempts), "-j", str(attempts),
        "--runs-dir", str(run.parent), "--run-id", run.name, "-q",
    ]  # fmt: skip
    env = {**os.environ, "AGENTBENCH_CACHE": str(place / "cache")}
    with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as program:
        while sum(b"at work" in log.read_bytes() for log in run.rglob("agent_run.log")) < attempts:
            if program.poll() is not None:
                raise SystemExit(f"{sandbox}: ended by itself, with {program.returncode}")
            time.sleep(0.05)
        pressed = time.perf_counter()
        program.send_signal(signal.SIGINT)
        code = program.wait()
        seconds = time.perf_counter() - pressed
    kept = [json.loads(line) for line in (run / "attempts.jsonl").read_text().splitlines()]
    if code != 130 or len(kept) != attempts:
        raise SystemExit(f"{sandbox}: exit code {code}, {len(kept)} of {attempts} records")
    left = subprocess.run(
        [sys.executable, "-m", "agentbench", "clean", "--dry-run"],
        env=env, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    left = [line for line in left if not line.startswith(("cached", "toolbox"))]
    if left:
        raise SystemExit(f"{sandbox}: left behind: {left}")
    return seconds


def _raw_removal(client: "docker.DockerClient", image: str, count: int) -> float:
    def start(_number: int) -> "docker.models.containers.Container":
        return client.containers.run(image, ["sleep", "600"], detach=True, init=True)

    with ThreadPoolExecutor(count) as pool:
        containers = list(pool.map(start, range(count)))
        began = time.perf_counter()
        list(pool.map(lambda container: container.remove(force=True), containers))
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
