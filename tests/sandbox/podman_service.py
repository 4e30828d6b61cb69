"""A Podman of the tests' own, which serves Docker's API on a socket.

It gets its own storage, network and mount namespace: nothing of the machine's Podman is touched.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentbench.errors import UnavailableError
from agentbench.sandbox.docker.engine import Engine
from tests.patience import HANG_SECONDS
from tests.sandbox.private_network import PrivateNetwork, private_network
from tests.sandbox.second_engine import hiding, sweep

NEEDED = ("podman", "catatonit", "ip", "iptables")
"""Debian's packages podman, catatonit, iproute2 and iptables."""
_SHARED = ("/dev/shm", "/run/netns", "/run/lock", "/var/lib/cni")  # what all Podmans use


class PodmanService:
    """A running `podman system service`."""

    def __init__(self, root: Path, network: PrivateNetwork) -> None:
        self._root = root
        self.network = network
        self.base_url = f"unix://{root}/podman.sock"
        folders = [f"--root={root}/data", f"--runroot={root}/run", f"--tmpdir={root}/tmp"]
        # Its usual runtime, crun, does not start containers under version 1 of control groups.
        kinds = ["--cgroup-manager=cgroupfs", "--runtime=runc", "--events-backend=file"]
        hides = [Path(path) for path in _SHARED if Path(path).is_dir()]
        with (root / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(*network.enter, *hiding(hides), "podman", *folders, *kinds),
                    *("system", "service", "--time=0", self.base_url),
                ],
                stdout=log,
                stderr=log,
                cwd=root,  # its monitors leave a file `oom` where they are
                env={**os.environ, "TMPDIR": str(root)},  # the tests' own may be hidden from it
            )

    def await_engine(self) -> Engine:
        """Connect to it once it answers."""
        deadline = time.monotonic() + HANG_SECONDS
        while True:
            try:
                return Engine.connect(self.base_url)
            except UnavailableError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise AssertionError((self._root / "log").read_text()[-2000:]) from None
                time.sleep(0.05)  # it tells nobody when it is up

    def clear(self) -> None:
        """End it and all that it started."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(timeout=HANG_SECONDS)
        containers = self._root / "data" / "overlay-containers"
        sweep(self._root, [path.name for path in containers.glob("*")])


def missing_programs() -> list[str]:
    """What has to be installed first."""
    places = "/usr/libexec/podman:/usr/sbin:/sbin"
    return [name for name in NEEDED if not (shutil.which(name) or shutil.which(name, path=places))]


@contextmanager
def podman_service(root: Path) -> Iterator[PodmanService]:
    """A Podman for the length of a block, in a folder of its own."""
    with private_network() as network:
        service = PodmanService(root, network)
        try:
            yield service
        finally:
            service.clear()
