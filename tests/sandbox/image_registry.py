"""A real image registry on loopback, Debian's own, for tests of what machines share by one."""

import http.client
import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.hosts import closed_port
from tests.patience import HANG_SECONDS, wait_until
from tests.sandbox.private_engines import need

PROGRAM = "docker-registry"  # of the package of that name
_CONFIG = """\
version: 0.1
storage:
  filesystem:
    rootdirectory: {root}
http:
  addr: 127.0.0.1:{port}
log:
  level: warn
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """One that answers."""

    port: int

    @property
    def place(self) -> str:
        """Where engines push to."""
        return f"127.0.0.1:{self.port}/team"

    def tags(self, repository: str) -> list[str]:
        """The names that a repository of it has."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_SECONDS)
        try:
            connection.request("GET", f"/v2/{repository}/tags/list")
            answer = connection.getresponse()
            content = json.load(answer)
        finally:
            connection.close()
        return list(content["tags"] or ()) if answer.status == http.client.OK else []


@contextmanager
def running_registry(folder: Path) -> Iterator[Registry]:
    """A registry with its images below a folder; it ends with the block."""
    need([] if shutil.which(PROGRAM) else [PROGRAM])
    registry = Registry(port=closed_port())
    config = folder / "registry.yml"
    config.write_text(_CONFIG.format(root=folder / "registry", port=registry.port))
    with (
        (folder / "registry.log").open("wb") as log,
        subprocess.Popen([PROGRAM, "serve", str(config)], stdout=log, stderr=log) as process,
    ):
        try:
            _await(registry.port, process)
            yield registry
        finally:
            process.terminate()


def _await(port: int, process: "subprocess.Popen[bytes]") -> None:
    wait_until(lambda: process.poll() is not None or _answers(port))
    if process.poll() is not None:
        raise RuntimeError(f"{PROGRAM} does not answer at port {port}")


def _answers(port: int) -> bool:
    with socket.socket() as knocking:
        return knocking.connect_ex(("127.0.0.1", port)) == 0
