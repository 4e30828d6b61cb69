"""An ssh server of the tests' own on loopback, and a user's settings to reach it with."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.hosts import closed_port
from tests.patience import HANG_SECONDS

PLACES = "/usr/sbin:/usr/local/sbin:/sbin"


@dataclass(frozen=True, slots=True, kw_only=True)
class SshServer:
    """A running `sshd`, as one user reaches it."""

    folder: Path
    port: int
    program: Path  # to be found as `ssh`: the real one, with this user's settings
    process: "subprocess.Popen[bytes]"

    @property
    def url(self) -> str:
        """What DOCKER_HOST would be."""
        return f"ssh://{getpass.getuser()}@localhost:{self.port}"

    def forget_host(self) -> None:
        """Let the user not know the server's key."""
        (self.folder / "known_hosts").write_text("")

    def refuse_user(self) -> None:
        """Let the server not know the user's key."""
        (self.folder / "authorized").write_text("")


def missing_programs() -> list[str]:
    """What has to be installed first: Debian's openssh-server and openssh-client."""
    return [
        name
        for name in ("ssh", "ssh-keygen", "sshd")
        if not (shutil.which(name) or shutil.which(name, path=PLACES))
    ]


@contextmanager
def ssh_server(folder: Path) -> Iterator[SshServer]:
    """One for the length of a block."""
    port = closed_port()
    for name in ("host", "user"):
        _make_key(folder / name)
    shutil.copy(folder / "user.pub", folder / "authorized")
    key = (folder / "host.pub").read_text()
    (folder / "known_hosts").write_text(f"[localhost]:{port} {key}")
    process = _started(folder, port)
    try:
        _await(process, port, folder)
        yield SshServer(folder=folder, port=port, program=_program(folder), process=process)
    finally:
        process.terminate()
        process.wait(timeout=HANG_SECONDS)


def _started(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    program = shutil.which("sshd") or shutil.which("sshd", path=PLACES)
    assert program is not None
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where it goes to have no files
    config = folder / "sshd_config"
    config.write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nPasswordAuthentication no\n"
        "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
    )
    with (folder / "log").open("wb") as log:
        return subprocess.Popen([program, "-D", "-e", "-f", str(config)], stdout=log, stderr=log)


def _program(folder: Path) -> Path:
    config = folder / "ssh_config"
    config.write_text(
        f"Host *\n  IdentityFile {folder}/user\n  IdentitiesOnly yes\n  IdentityAgent none\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile none\n"
    )
    program = folder / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} "$@"\n')
    program.chmod(0o755)
    return program


def _make_key(path: Path) -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(command, check=True, timeout=HANG_SECONDS)


def _await(process: "subprocess.Popen[bytes]", port: int, folder: Path) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            if time.monotonic() > deadline or process.poll() is not None:
                raise AssertionError((folder / "log").read_text()[-2000:]) from None
            time.sleep(0.05)  # it tells nobody when it is up
        else:
            return
