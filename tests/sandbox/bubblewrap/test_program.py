import os
import select
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from agentbench.errors import UnavailableError
from agentbench.sandbox.bubblewrap import program
from agentbench.sandbox.bubblewrap.program import (
    BwrapProgram,
    MountNamespace,
    find_bwrap,
    mount_namespace,
    remedy_for,
)
from agentbench.sandbox.trees import FileOwner
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.full


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("bwrap: No permissions to creating new namespace, likely because", "seccomp=unconfined"),
        ("bwrap: Creating new namespace failed: No space left on device", "max_user_namespaces"),
        ("bwrap: Can't make overlay mount on /newroot/opt/venv", "systempaths"),
        ("bwrap: setting up uid map: Permission denied", "AppArmor"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths"),
        ("bwrap: Can't find source path /home/ann/x: Permission denied", "cache folder"),
        ("something else", "does not work here"),
    ],
)
def test_a_refusal_comes_with_its_remedy(message: str, remedy: str) -> None:
    assert remedy in remedy_for(message)
    assert "--sandbox docker" in remedy_for(message)


def fake_bwrap(folder: Path, version: str) -> Path:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\necho bubblewrap {version}\n")
    program.chmod(0o755)
    return program


def test_system_bwrap_is_preferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = fake_bwrap(tmp_path, "0.12.1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = find_bwrap(None, None)
    assert (found.path, found.version) == (own, "0.12.1")


def test_old_bwrap_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_bwrap(tmp_path, "0.8.0")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    bundled = program.bundled_bwrap()
    if bundled is None:
        with pytest.raises(UnavailableError, match=r"0\.11 or later was not found"):
            find_bwrap(None, None)
    else:
        assert find_bwrap(None, None).path == bundled != old


@pytest.mark.parametrize("setpriv", [program._setpriv(), None])
def test_it_is_started_without_the_privileges_of_root(
    monkeypatch: pytest.MonkeyPatch, setpriv: str | None
) -> None:
    monkeypatch.setattr(program, "_setpriv", lambda: setpriv)
    is_root = os.geteuid() == 0  # anybody else has no privileges, and starts it as they are
    user = FileOwner(uid=65534, gid=65533) if is_root else None
    ids = ["65534", "65533"] if is_root else [str(os.geteuid())]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)  # the tests' own folder lets nobody else through
        says = Path(folder) / "bwrap"
        script = "id -u; id -G" if is_root else "id -u"
        says.write_text(f'#!/bin/sh\n{script}; grep CapEff /proc/self/status; echo "$@"\n')
        says.chmod(0o755)
        fake = BwrapProgram(path=says, version="0", user=user, mount_namespace=None)
        with fake.start(["--a", "b c"], ()) as process:
            reported, _ = process.communicate()
    assert reported.decode().split("\n") == [*ids, "CapEff:\t" + "0" * 16, "--a b c", ""]


_HARNESS = """
import sys, time
from pathlib import Path
from agentbench.sandbox.bubblewrap.program import BwrapProgram
from agentbench.sandbox.host_environment import sandbox_user

program = BwrapProgram(
    path=Path(sys.argv[1]), version="0.11", user=sandbox_user(), mount_namespace=None
)
child = program.start(sys.argv[2:], ())
print(child.pid, flush=True)
time.sleep(600)
"""
_LATE = {
    "not yet bound to us": "",
    "before it does anything": 'while kill -0 "$PARENT" 2> /dev/null; do :; done\n',
    "before it parses its options": 'while [ "$(ps -o ppid= $$)" -eq "$PARENT" ]; do :; done\n',
}


@pytest.mark.skipif(program._setpriv() is None, reason="needs setpriv of util-linux 2.33")
@pytest.mark.parametrize("name", _LATE)
def test_no_process_outlives_a_killed_harness(name: str, tmp_path: Path) -> None:
    """As if the harness were killed in the moment before bwrap sets its death signal."""
    late = tmp_path / "bwrap"
    late.write_text(f"#!/bin/sh\nPARENT=$PPID\n{_LATE[name]}exec sleep 600\n")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)  # the sandbox's user starts it
    late.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-c", _HARNESS, late], stdout=subprocess.PIPE, text=True
    ) as harness:
        assert harness.stdout is not None
        child = int(harness.stdout.readline())
        handle = os.pidfd_open(child)
        harness.kill()
    try:
        assert select.select([handle], [], [], HANG_SECONDS)[0], "it lives on"
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)


@pytest.fixture
def stage() -> MountNamespace:
    found = mount_namespace()
    if found is None:
        pytest.skip("this process may not make a mount namespace")
    return found


def reported(stage: MountNamespace, *argv: str, user: int | None = None) -> str:
    child = stage.call(
        lambda: subprocess.Popen(
            argv, stdout=subprocess.PIPE, user=user, group=user, extra_groups=()
        )
    )
    return child.communicate()[0].decode()


def test_shown_path_is_reachable_for_the_user(stage: MountNamespace, tmp_path: Path) -> None:
    closed = tmp_path / "closed" / "open"
    closed.mkdir(parents=True)
    (closed / "note").write_text("found")
    (closed.parent).chmod(0o700)
    shown = stage.show(closed)
    try:
        assert reported(stage, "cat", f"{shown}/note", user=60706) == "found"
    finally:
        stage.hide(shown)
    assert reported(stage, "ls", str(shown.parent)).split().count(shown.name) == 0


def test_shown_paths_are_invisible_to_other_processes(
    stage: MountNamespace, tmp_path: Path
) -> None:
    shown = stage.show(tmp_path)
    try:
        assert not shown.exists()
        assert str(shown.parent) not in [
            line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()
        ]
    finally:
        stage.hide(shown)


def test_a_source_that_is_missing_is_an_error(stage: MountNamespace, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        stage.show(tmp_path / "missing")


def test_call_inside_the_thread_does_not_deadlock(stage: MountNamespace, tmp_path: Path) -> None:
    shown = stage.show(tmp_path)

    def start() -> "subprocess.Popen[bytes]":
        stage.hide(shown)  # as the collector does when it closes a sandbox in the midst of this
        return subprocess.Popen(("true",))

    started: list[subprocess.Popen[bytes]] = []
    background = Thread(target=lambda: started.append(stage.call(start)), daemon=True)
    background.start()
    background.join(HANG_SECONDS)
    assert [child.wait() for child in started] == [0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root has one")
def test_unprivileged_process_needs_no_mount_namespace() -> None:
    assert mount_namespace() is None
