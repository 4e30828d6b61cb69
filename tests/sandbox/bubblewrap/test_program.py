import os
import subprocess
from pathlib import Path
from threading import Thread

import pytest

from agentbench.sandbox.bubblewrap.program import MountNamespace, mount_namespace
from tests.patience import HANG_SECONDS


@pytest.fixture
def stage() -> MountNamespace:
    found = mount_namespace()
    if found is None:
        pytest.skip("this process may not make a mount namespace")
    return found


def said(stage: MountNamespace, *argv: str, user: int | None = None) -> str:
    child = stage.call(
        lambda: subprocess.Popen(
            argv, stdout=subprocess.PIPE, user=user, group=user, extra_groups=()
        )
    )
    return child.communicate()[0].decode()


def test_a_user_reaches_what_lies_below_a_closed_folder(
    stage: MountNamespace, tmp_path: Path
) -> None:
    closed = tmp_path / "closed" / "open"
    closed.mkdir(parents=True)
    (closed / "note").write_text("found")
    (closed.parent).chmod(0o700)
    shown = stage.show(closed)
    try:
        assert said(stage, "cat", f"{shown}/note", user=60706) == "found"
    finally:
        stage.hide(shown)
    assert said(stage, "ls", str(shown.parent)).split().count(shown.name) == 0


def test_the_machine_sees_nothing_of_it(stage: MountNamespace, tmp_path: Path) -> None:
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


def test_what_is_collected_in_its_thread_does_not_wait_for_itself(
    stage: MountNamespace, tmp_path: Path
) -> None:
    shown = stage.show(tmp_path)

    def start() -> "subprocess.Popen[bytes]":
        stage.hide(shown)  # as the collector does when it closes a sandbox in the midst of this
        return subprocess.Popen(("true",))

    started: list[subprocess.Popen[bytes]] = []
    beside = Thread(target=lambda: started.append(stage.call(start)), daemon=True)
    beside.start()
    beside.join(HANG_SECONDS)
    assert [child.wait() for child in started] == [0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root has one")
def test_who_drops_no_privileges_needs_no_stage() -> None:
    assert mount_namespace() is None
