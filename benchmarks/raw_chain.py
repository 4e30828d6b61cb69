"""The cheapest chain of Docker calls that judges a task: what benchmarks compare agentbench with.

For each attempt it makes one container, puts the repository with fix and hidden tests into it, runs
pytest and removes it: no baseline, no fresh container, no limits, no report, no record. It asks
for no network (`network_mode="none"`), for which the engine still takes half of a start; agentbench
disables the network (docs/sandboxes.md), and is faster per container.
With CONTAINERS above 1 it makes so many for an attempt, the first of which runs no tests, as it
would be an agent's: what an engine alone takes for the sandboxes of a verdict.
Run: python benchmarks/raw_chain.py ARCHIVE ATTEMPTS AT_A_TIME [CONTAINERS]
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker

_IMAGE = "agentbench/python"
_COMMAND = ("python", "-m", "pytest", "-q", "tests")


def main() -> None:
    """Judge the task's reference solution so many times."""
    archive = Path(sys.argv[1]).read_bytes()
    attempts, jobs, *more = map(int, sys.argv[2:])
    containers = more[0] if more else 1
    client = docker.from_env()
    images = client.images.list(_IMAGE)
    image = max(images, key=lambda one: [*map(len, one.tags), *one.tags]).id  # of the newest Python
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda _: _attempt(client, image, archive, containers), range(attempts)))


def _attempt(client: "docker.DockerClient", image: str, archive: bytes, containers: int) -> None:
    """The agent's container with the final test's beside it; then the blind runs' beside that."""
    if containers == 1:
        _judge(client, image, archive)
        return
    with ThreadPoolExecutor(containers) as pool:
        agent = pool.submit(_judge, client, image, archive, tested=False)
        judged = [pool.submit(_judge, client, image, archive) for _ in range(containers - 1)]
        for each in (agent, *judged):
            each.result()


def _judge(
    client: "docker.DockerClient", image: str, archive: bytes, *, tested: bool = True
) -> None:
    container = client.containers.run(
        image, ["sleep", "600"], detach=True, network_mode="none", init=True, user="1000:1000",
        labels={"agentbench-benchmark": "raw chain"},
    )  # fmt: skip
    try:
        container.put_archive("/tmp", archive)
        command = _COMMAND if tested else ("git", "--version")
        code, output = container.exec_run(command, workdir="/tmp/repo")
        if code != 0:
            raise SystemExit(f"the raw chain's tests exited {code}:\n{output.decode()}")
    finally:
        container.remove(force=True)


if __name__ == "__main__":
    main()
