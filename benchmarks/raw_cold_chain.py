"""The cheapest chain of Docker calls that judges a task from nothing: the floor of a cold attempt.

It makes one container, clones the repository in it, checks the commit out, applies the fix and the
hidden tests, runs pytest and removes the container: no snapshot, no baseline, no fresh container.
Prints the seconds that the tests took.
Run: python benchmarks/raw_cold_chain.py ARCHIVE
"""

import sys
import time
from pathlib import Path

import docker

_IMAGE = "agentbench/python"
_STEPS = (
    ("git", "clone", "--quiet", "/tmp/origin.git", "/tmp/repo"),
    ("git", "-C", "/tmp/repo", "checkout", "--quiet", "--detach", "HEAD"),
    ("git", "-C", "/tmp/repo", "apply", "/tmp/solution.patch", "/tmp/tests.patch"),
)
_TESTS = ("python", "-m", "pytest", "-q", "tests")


def main() -> None:
    """Judge the task's reference solution once."""
    archive = Path(sys.argv[1]).read_bytes()
    client = docker.from_env()
    container = client.containers.run(
        client.images.list(_IMAGE)[0].id, ["sleep", "600"], detach=True, network_mode="none",
        init=True, user="1000:1000", labels={"agentbench-benchmark": "raw cold chain"},
    )  # fmt: skip
    try:
        container.put_archive("/tmp", archive)
        for step in _STEPS:
            _done(container, step, "/tmp")
        started = time.perf_counter()
        _done(container, _TESTS, "/tmp/repo")
        print(time.perf_counter() - started)
    finally:
        container.remove(force=True)


def _done(container: "docker.models.containers.Container", argv: tuple[str, ...], cwd: str) -> None:
    code, output = container.exec_run(argv, workdir=cwd)
    if code != 0:
        raise SystemExit(f"{argv} exited {code}:\n{output.decode()}")


if __name__ == "__main__":
    main()
