"""What a sandbox may see and reach: its files, its mounts, its privileges, the network."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentbench.sandbox.interface import ImageId, Promise, ReadOnlyMount, Sandbox, SandboxProvider
from tests.sandbox.conformance_base import LIMITS, Conformance, needs, python, sh

CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 60).close()
except OSError as fault:
    print("refused", fault)
else:
    print("connected")
"""
WRITE = """
import os, sys
for folder in sys.argv[1:]:
    try:
        os.close(os.open(folder + "/agentbench-was-here", os.O_CREAT | os.O_WRONLY))
    except OSError:
        continue
    print(folder)
"""


@contextmanager
def listening() -> Iterator[int]:
    """A server of this machine on all its addresses; yields its port."""
    with socket.create_server(("0.0.0.0", 0), backlog=16) as server:
        yield server.getsockname()[1]


def connects(sandbox: Sandbox, host: str, port: int) -> bool:
    """Whether a program in the sandbox reaches a server of this machine."""
    result = python(sandbox, CONNECT, host, str(port))
    assert result.ok, result.stderr
    return result.stdout == "connected\n"


class IsolationConformance(Conformance):
    """What the walls hold back, and what they let through."""

    def test_the_user_is_not_root(self, sandbox: Sandbox, provider: SandboxProvider) -> None:
        needs(provider, Promise.UNPRIVILEGED)
        assert sh(sandbox, "id -u").stdout.strip() != "0"

    def test_no_privileges_can_be_gained(self, sandbox: Sandbox, provider: SandboxProvider) -> None:
        needs(provider, Promise.UNPRIVILEGED)
        status = sh(sandbox, "cat /proc/self/status").stdout
        facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert (facts["CapEff"], facts["CapPrm"]) == ("0" * 16, "0" * 16)
        assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")

    def test_no_capability_comes_with_a_new_user_namespace(
        self, sandbox: Sandbox, provider: SandboxProvider
    ) -> None:
        needs(provider, Promise.UNPRIVILEGED)
        script = "import ctypes; print(ctypes.CDLL(None, use_errno=True).unshare(0x10000000))"
        assert python(sandbox, script).stdout == "-1\n"

    def test_no_descriptor_is_inherited(self, sandbox: Sandbox) -> None:
        inside = sh(sandbox, "ls /proc/self/fd")  # one that is left open may lead to the host
        assert inside.stdout.split() == ["0", "1", "2", "3"]  # 3 is the folder that ls reads

    def test_only_its_own_folders_can_be_written(
        self, sandbox: Sandbox, provider: SandboxProvider
    ) -> None:
        needs(provider, Promise.OWN_FILE_SYSTEM)
        folders = ("/", "/usr", "/usr/bin", "/etc", "/var", "/root", "/opt", "/proc", "/sys")
        assert python(sandbox, WRITE, *folders).stdout == ""

    def test_its_own_folders_can_be_written(self, sandbox: Sandbox) -> None:
        temporary = sh(sandbox, 'printf %s "${TMPDIR:-/tmp}"').stdout
        environment = python(sandbox, "import sys; print(sys.prefix, end='')").stdout
        folders = (str(sandbox.workspace), str(sandbox.results), temporary, environment)
        assert python(sandbox, WRITE, *folders).stdout.split() == list(folders)

    def test_host_files_are_invisible(
        self, sandbox: Sandbox, provider: SandboxProvider, tmp_path: Path
    ) -> None:
        needs(provider, Promise.OWN_FILE_SYSTEM)
        secret = tmp_path / "secret"
        secret.write_text("secret")
        secret.chmod(0o644)
        assert sh(sandbox, f"cat {secret}").exit_code == 1

    def test_results_folder_is_empty_and_outside_the_workspace(self, fresh: Sandbox) -> None:
        assert not fresh.results.is_relative_to(fresh.workspace)
        assert sh(fresh, f"ls -A {fresh.results}").stdout == ""
        assert sh(fresh, f"echo 1 > {fresh.results}/a && cat {fresh.results}/a").stdout == "1\n"

    def test_the_workspace_is_empty_at_first(self, fresh: Sandbox) -> None:
        assert sh(fresh, "ls -A").stdout == ""

    def test_mounts_are_found_by_name_and_cannot_be_changed(
        self, provider: SandboxProvider, image: ImageId, tmp_path: Path
    ) -> None:
        folder, file = tmp_path / "folder", tmp_path / "file.txt"
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "a.txt").write_text("in a folder")
        file.write_text("a file")
        mounts = [
            ReadOnlyMount(name="tools", source=folder),
            ReadOnlyMount(name="note", source=file),
        ]
        with provider.open(image, limits=LIMITS, network=False, mounts=mounts) as sandbox:
            tools, note = sandbox.mounted("tools"), sandbox.mounted("note")
            assert sh(sandbox, f"cat {tools}/deep/a.txt {note}").stdout == "in a foldera file"
            if Promise.OWN_FILE_SYSTEM in provider.promises:
                assert not sh(sandbox, f"echo x > {tools}/deep/b.txt").ok
                assert not sh(sandbox, f"echo x >> {note}").ok
                assert not sh(sandbox, f"rm -f {tools}/deep/a.txt").ok
        assert (file.read_text(), (folder / "deep" / "a.txt").exists()) == ("a file", True)

    def test_mount_below_a_closed_folder_is_readable(
        self, provider: SandboxProvider, image: ImageId, tmp_path: Path
    ) -> None:
        home = tmp_path / "home"  # as root's is
        (home / "folder").mkdir(parents=True)
        (home / "folder" / "a.txt").write_text("in a folder")
        (home / "file.txt").write_text("a file")
        home.chmod(0o700)
        mounts = [
            ReadOnlyMount(name="tools", source=home / "folder"),
            ReadOnlyMount(name="note", source=home / "file.txt"),
        ]
        with provider.open(image, limits=LIMITS, network=False, mounts=mounts) as sandbox:
            tools, note = sandbox.mounted("tools"), sandbox.mounted("note")
            assert sh(sandbox, f"cat {tools}/a.txt {note}").stdout == "in a foldera file"

    def test_unknown_mount_is_a_key_error(self, sandbox: Sandbox) -> None:
        with pytest.raises(KeyError):
            sandbox.mounted("nothing")

    def test_no_network_reaches_nothing(
        self, sandbox: Sandbox, provider: SandboxProvider, reachable_host: str | None
    ) -> None:
        hosts = {"127.0.0.1", reachable_host or "127.0.0.1"}
        with listening() as port:
            reached = {host for host in hosts if connects(sandbox, host, port)}
        if Promise.NO_NETWORK not in provider.promises:
            assert reached == hosts, "the gap is gone: promise it"
            pytest.skip(f"{provider.name} does not promise: {Promise.NO_NETWORK}")
        assert reached == set()
        ask = "import socket; socket.getaddrinfo('example.com', 80)"
        assert "gaierror" in python(sandbox, ask).stderr

    def test_with_a_network_a_server_is_reached(
        self, provider: SandboxProvider, image: ImageId, reachable_host: str | None
    ) -> None:
        if reachable_host is None:
            pytest.skip("no address by which this machine is reached from inside")
        with (
            listening() as port,
            provider.open(image, limits=LIMITS, network=True) as sandbox,
        ):
            assert connects(sandbox, reachable_host, port)

    def test_two_sandboxes_do_not_see_each_other(
        self, provider: SandboxProvider, image: ImageId
    ) -> None:
        with (
            provider.open(image, limits=LIMITS, network=False) as one,
            provider.open(image, limits=LIMITS, network=False) as other,
        ):
            touch = 'touch w "$HOME/h" "${TMPDIR:-/tmp}/t"'
            assert sh(one, f"{touch} {one.results}/r").ok
            look = 'ls -A . "$HOME" "${TMPDIR:-/tmp}" ' + str(other.results)
            seen = sh(other, look).stdout.split()
        assert not {"w", "h", "t", "r"} & set(seen)

    def test_closing_leaves_nothing_on_the_host(
        self, provider: SandboxProvider, image: ImageId, leftovers: Callable[[], frozenset[str]]
    ) -> None:
        before = leftovers()
        with provider.open(image, limits=LIMITS, network=False) as sandbox:
            assert leftovers() - before, "the hook must see an open sandbox"
            sh(
                sandbox,
                "mkdir -p locked/deep && touch locked/deep/f && chmod 000 locked/deep locked",
            )
            sh(sandbox, 'mkdir "${TMPDIR:-/tmp}/l" && chmod 000 "${TMPDIR:-/tmp}/l"')
            sh(sandbox, "setsid sleep 1000 & exit 0")
        assert leftovers() - before == frozenset()

    def test_exception_in_the_block_leaves_nothing(
        self, provider: SandboxProvider, image: ImageId, leftovers: Callable[[], frozenset[str]]
    ) -> None:
        before = leftovers()
        with (
            pytest.raises(ZeroDivisionError),
            provider.open(image, limits=LIMITS, network=False) as sandbox,
        ):
            _ = 1 / int(sh(sandbox, "touch x").stdout or "0")
        assert leftovers() - before == frozenset()
