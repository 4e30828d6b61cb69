"""Ctrl-C: seconds from one press, with attempts under way, until the program has ended.

By then every record is on disk and nothing is left of any attempt: both are looked at. Beside it,
in the same round, how long the SDK takes to remove as many plain containers, from as many threads:
what the engine itself needs. Run: python benchmarks/interrupt.py [--attempts N] [--rounds N]
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path

import docker
from measuring import arguments, show, take_turns, timed

_ROOT = Path(__file__).parents[1]
_TASK = _ROOT / "tasks" / "lru-expiry"
_AGENT = "echo at work; sleep 600"
_RAW = "raw removal"


def main() -> None:
    """Take turns and show medians, the worst, and the ratios to the engine's own time."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--attempts", type=int, default=8, metavar="N", help="under way at a time (default 8)"
    )
    options = parser.parse_args()
    client = docker.from_env()
    image = client.images.list("agentbench/python")[0].id
    with tempfile.TemporaryDirectory(prefix="agentbench-interrupt-") as scratch:
        interrupted = partial(_interrupted, options.attempts, Path(scratch), count())
        variants = {
            _RAW: partial(_raw_removal, client, image, options.attempts),
            "one press, docker": partial(interrupted, "docker"),
            "one press, bubblewrap": partial(interrupted, "bubblewrap"),
        }
        measures = take_turns(variants, options.rounds)
    facts = {"attempts under way": options.attempts, "engine": str(client.version()["Version"])}
    show("interrupt", measures, options, facts=facts)


def _interrupted(attempts: int, place: Path, numbers: "count[int]", sandbox: str) -> float:
    run = place / "runs" / f"{sandbox}-{next(numbers)}"
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


def _raw_removal(client: "docker.DockerClient", image: str, attempts: int) -> float:
    def start(_number: int) -> "docker.models.containers.Container":
        return client.containers.run(image, ["sleep", "600"], detach=True, init=True)

    with ThreadPoolExecutor(attempts) as pool:
        containers = list(pool.map(start, range(attempts)))
        return timed(lambda: list(pool.map(lambda each: each.remove(force=True), containers)))()


if __name__ == "__main__":
    main()
