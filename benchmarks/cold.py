"""A cold attempt against the cheapest chain of Docker calls that starts from nothing as well.

The raw chain (raw_cold_chain.py) clones the repository in one container and judges there. A cold
run of agentbench makes a snapshot of the cloned repository, runs the baseline, and does all that a
warm attempt does; its cache is new each time. The time of the tests is taken off both: once of
the raw chain, twice of a run, which runs them for the baseline too; bubblewrap's are as long.
Run: python benchmarks/cold.py [--task DIR] [--rounds N] [--json FILE]
"""

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import docker
from measuring import arguments, child, show, take_turns
from overhead import owned

_ROOT = Path(__file__).parents[1]
_RAW = "raw cold chain"
_WAYS = (("docker", "off"), ("docker", "full"), ("bubblewrap", "full"))


def main() -> None:
    """Take turns and show medians and ratios."""
    parser = arguments(__doc__)
    parser.add_argument("--task", type=Path, default=_ROOT / "tasks" / "lru-expiry")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentbench-cold-") as scratch:
        chain = _Chain(options.task, Path(scratch))
        variants = {_RAW: chain.turn}
        for sandbox, controls in _WAYS:
            name = f"{sandbox}, controls {controls}, cold"
            variants[name] = _run(options, chain, sandbox, controls)
        measures = take_turns(variants, options.rounds)
    facts = {"task": options.task.name, "engine": str(docker.from_env().version()["Version"])}
    notes = ["all without the time of the tests themselves"]
    show("cold", measures, options, facts=facts, notes=notes)


class _Chain:
    """The raw chain; it knows how long the tests took when it ran last."""

    def __init__(self, task: Path, place: Path) -> None:
        archive = place / "origin.tar"
        archive.write_bytes(_archive(task))
        script = Path(__file__).with_name("raw_cold_chain.py")
        self.place = place
        self.tests_s = 0.0
        self._argv = [sys.executable, str(script), str(archive)]

    def turn(self) -> float:
        """Seconds without those of the tests."""
        started = time.perf_counter()
        ended = subprocess.run(self._argv, check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - started
        self.tests_s = float(ended.stdout)
        return seconds - self.tests_s


def _run(
    options: argparse.Namespace, chain: _Chain, sandbox: str, controls: str
) -> Callable[[], float]:
    def turn() -> float:
        if not chain.tests_s:  # another one begins this round
            chain.turn()
        with tempfile.TemporaryDirectory(dir=chain.place) as scratch:
            env = {"AGENTBENCH_CACHE": f"{scratch}/cache"}
            argv = [
                sys.executable, "-m", "agentbench", "run", str(options.task), "--agent", "oracle",
                "--sandbox", sandbox,
                "--integrity-controls", controls, "-j", "1", "--runs-dir", f"{scratch}/runs",
                "--quiet", "--fail-under", "1",
            ]  # fmt: skip
            seconds = child(argv, env=env).seconds
            child([sys.executable, "-m", "agentbench", "clean", "--keep", "0GB"], env=env)
        return seconds - 2 * chain.tests_s

    return turn


def _archive(task: Path) -> bytes:
    """The repository as a bare one, and both patches, as one tar."""
    with tempfile.TemporaryDirectory() as scratch:
        repo, bare = Path(scratch) / "repo", Path(scratch) / "origin.git"
        subprocess.run(["cp", "-r", str(task / "repo"), str(repo)], check=True)
        for words in (
            ("init", "--quiet"),
            ("add", "--all", "--force"),
            ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "the bug"),
            ("clone", "--quiet", "--bare", ".", str(bare)),
        ):
            subprocess.run(["git", *words], check=True, cwd=repo)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            tar.add(bare, "origin.git", filter=owned)
            for patch in ("solution.patch", "tests.patch"):
                tar.add(task / patch, patch, filter=owned)
        return buffer.getvalue()


if __name__ == "__main__":
    main()
