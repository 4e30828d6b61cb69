"""A Docker engine of the tests' own, which may be frozen and killed.

It gets a network namespace and a mount namespace of its own.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from agentbench.errors import UnavailableError
from agentbench.sandbox.docker.engine import Engine
from tests.patience import HANG_SECONDS
from tests.sandbox.private_network import PrivateNetwork, private_network

_STARTS = 3


class SecondEngine:
    """A running `dockerd`."""

    def __init__(
        self,
        root: Path,
        network: PrivateNetwork,
        *,
        hides: Sequence[Path] = (),
        options: Sequence[str] = (),
    ) -> None:
        self._root = root
        self.network = network
        self.hidden = root / "hidden"
        """A folder in which it does not see what we see."""
        self.hidden.mkdir()
        self.base_url = f"unix://{root}/docker.sock"
        folders = [f"--data-root={root}/data", f"--exec-root={root}/exec"]
        sockets = [f"--host={self.base_url}", f"--pidfile={root}/docker.pid"]
        self._command = [
            *(*network.enter, *hiding((self.hidden, *hides))),
            *("dockerd", *folders, *sockets, *options),
        ]
        self._process = self._begun()

    def begin_again(self) -> None:
        """Start it anew, when it has ended."""
        self._process = self._begun()

    def _begun(self) -> "subprocess.Popen[bytes]":
        with (self._root / "log").open("ab") as log:
            return subprocess.Popen(self._command, stdout=log, stderr=log)

    def await_engine(self) -> Engine:
        """Connect to it once it answers.

        Where it gives up on its own containerd, which it does after 15 seconds however loaded the
        machine is, it is started anew, as a service manager does.
        """
        deadline, starts = time.monotonic() + HANG_SECONDS, 1
        while True:
            try:
                return Engine.connect(self.base_url)
            except UnavailableError:
                has_ended = self._process.poll() is not None
                if time.monotonic() > deadline or (has_ended and starts == _STARTS):
                    raise AssertionError((self._root / "log").read_text()[-2000:]) from None
                if has_ended:
                    self.begin_again()
                    deadline, starts = time.monotonic() + HANG_SECONDS, starts + 1
                time.sleep(0.05)  # dockerd tells nobody when it is up

    def freeze(self) -> None:
        """Stop it without ending it: it takes connections and does not answer."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def end(self, number: signal.Signals) -> None:
        """End it by a signal, and wait until it is gone."""
        self._process.send_signal(number)
        self._process.wait(timeout=HANG_SECONDS)

    def clear(self) -> None:
        """End it and all that it started: what runs from its folder or in its containers."""
        with suppress(ProcessLookupError):
            self.thaw()
        if self._process.poll() is None:
            self.end(signal.SIGTERM)
        containers = self._root / "data" / "containers"
        sweep(self._root, [path.name for path in containers.glob("*")])


def hiding(folders: Sequence[Path]) -> tuple[str, ...]:
    """What to put before a command that is not to see what is in some folders."""
    mounts = "".join(f"mount -t tmpfs none '{folder}' && " for folder in folders)
    return ("unshare", "--mount", "sh", "-c", f'{mounts}exec "$@"', "sh")


def sweep(root: Path, containers: Sequence[str]) -> None:
    """End all that an engine started, running from its folder or in its containers."""
    marks = [str(root), *containers]
    for pid in (int(path.name) for path in Path("/proc").glob("[0-9]*")):
        if pid != os.getpid() and _belongs(pid, marks):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    for point in reversed([line.split()[1] for line in mounts]):
        if point.startswith(f"{root}/"):
            subprocess.run(["umount", "--lazy", point], check=False)


def _belongs(pid: int, marks: list[str]) -> bool:
    """Whether a process is of a container, or runs from a folder, that is named so."""
    texts = []
    for name in ("cmdline", "cgroup"):
        with suppress(OSError):
            texts.append(Path("/proc", str(pid), name).read_bytes().decode("utf-8", "replace"))
    if texts and "pytest" in texts[0]:  # its arguments may name the folder
        return False
    return any(mark in text for mark in marks for text in texts)


def _without_network(_network: PrivateNetwork) -> Sequence[str]:
    return ("--bridge=none", "--iptables=false")


@contextmanager
def second_engine(
    root: Path,
    *,
    hides: Sequence[Path] = (),
    options: Callable[[PrivateNetwork], Sequence[str]] = _without_network,
) -> Iterator[SecondEngine]:
    """A second engine for the length of a block, in a folder of its own."""
    with private_network() as network:
        engine = SecondEngine(root, network, hides=hides, options=options(network))
        try:
            yield engine
        finally:
            engine.clear()
