"""A container in which an agent's script works, for graders that start none themselves."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from benchmarks.graders.trial import BASE_GIT

_AGENT_S = 60
"""The agent's time limit; a script that hangs is one of the trials."""

_LAST_BYTES = 20_000


class AgentContainer:
    """A running container; the repository is its working directory."""

    def __init__(self, name: str) -> None:
        self._name = name

    def work(self, script: str) -> None:
        """Run an agent's script until it ends or its time is over; processes that it left go on."""
        # Its output goes nowhere: `docker exec` would wait for background processes that hold it.
        argv = ["sh", "-c", 'exec sh -e -c "$1" > /dev/null 2>&1 < /dev/null', "sh", script]
        self._exec(argv, _AGENT_S, stdout=subprocess.DEVNULL)

    def patch(self) -> str:
        """The agent's work as a patch against the first commit, whatever it did to .git."""
        git = f"git --git-dir {BASE_GIT} --work-tree ."
        line = f"{git} add -A && {git} diff --cached --binary HEAD"
        done = self._exec(["sh", "-c", line], _AGENT_S, stdout=subprocess.PIPE)
        return done.stdout.decode(errors="replace") if done.returncode == 0 else ""

    def test(self, line: str, stdin: str, seconds: int, log: Path) -> int:
        """Run a line of a login shell, write the end of its output to a file.

        Returns:
            Its exit code; 124 if its time was over.
        """
        # `tail` keeps output without end from filling the disk.
        argv = f'timeout {seconds} docker exec -i {self._name} sh -lc "$0" 2>&1'
        shell = ["bash", "-o", "pipefail", "-c", f"{argv} | tail -c {_LAST_BYTES}", line]
        with log.open("wb") as output:
            done = subprocess.run(shell, input=stdin.encode(), stdout=output, check=False)
        return done.returncode

    def _exec(
        self, argv: list[str], seconds: int, *, stdout: int
    ) -> subprocess.CompletedProcess[bytes]:
        # `timeout` ends only the client: what hangs ends with the container.
        client = ["timeout", str(seconds), "docker", "exec", self._name, *argv]
        return subprocess.run(client, stdout=stdout, stderr=subprocess.DEVNULL, check=False)


@contextmanager
def agent_container(image: str) -> Iterator[AgentContainer]:
    """Start a container of an image, and remove it at the end.

    Raises:
        RuntimeError: it does not start.
    """
    name = f"agentbench-benchmark-{uuid4().hex}"
    start = ["docker", "run", "--detach", "--name", name, image, "sleep", "infinity"]
    try:
        started = subprocess.run(start, capture_output=True, text=True, check=False)
        if started.returncode != 0:
            raise RuntimeError(f"no container starts: {started.stderr.strip()}")
        yield AgentContainer(name)
    finally:
        subprocess.run(["docker", "rm", "--force", name], capture_output=True, check=False)
