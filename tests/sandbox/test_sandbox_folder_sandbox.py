import os
import stat
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Event

import pytest

from agentbench.errors import DoesNotFitError, RunCancelled, SandboxError
from agentbench.sandbox.disk_usage import DiskUsage, DiskWatch, FolderGauge
from agentbench.sandbox.folder_sandbox import (
    FolderSandbox,
    InsidePaths,
    SandboxFolders,
    sandbox_folders,
)
from agentbench.sandbox.interface import Command, Limits, SnapshotId
from agentbench.scoring.evidence import CommandResult, Ending
from tests.sandbox.conformance_trees import tar_of

VIEW = InsidePaths(
    workspace=PurePosixPath("/workspace"),
    results=PurePosixPath("/results"),
    home=PurePosixPath("/home/x"),
    tmp=PurePosixPath("/tmp"),
    python=PurePosixPath("/usr/bin/python3"),
    mounts={"tools": PurePosixPath("/agentbench/tools")},
)
COMMAND = Command(argv=("true",), timeout=timedelta(seconds=5))


class ScriptedRunner:
    """Runs a function instead of a program."""

    def __init__(self, script: Callable[[], None] = lambda: None) -> None:
        self.script = script

    def run(self, command: Command, stop: Callable[[], bool]) -> CommandResult:
        self.script()
        ending = Ending.KILLED if stop() else Ending.EXITED
        return CommandResult(argv=command.argv, ending=ending, duration=timedelta(0), exit_code=0)


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[SandboxFolders]:
    with sandbox_folders(tmp_path, "", None) as folders:
        yield folders


def sandbox_of(
    folders: SandboxFolders,
    runner: ScriptedRunner,
    cancel: Event | None = None,
    watch: DiskWatch | None = None,
) -> FolderSandbox:
    return FolderSandbox(
        folders=folders,
        paths=VIEW,
        runner=runner,
        save=SnapshotId,
        cancel=cancel or Event(),
        watch=watch,
    )


@pytest.mark.parametrize("path", ["/etc", "/workspace/../etc", "workspace", "/opt/venv"])
def test_a_path_outside_the_folders_is_not_read(folders: SandboxFolders, path: str) -> None:
    sandbox = sandbox_of(folders, ScriptedRunner())
    with pytest.raises(SandboxError), sandbox.read_tree(PurePosixPath(path)):
        pass


def test_a_sink_may_kill_its_own_sandbox(folders: SandboxFolders) -> None:
    runner = ScriptedRunner()
    sandbox = sandbox_of(folders, runner)
    runner.script = sandbox.kill
    with pytest.raises(SandboxError, match="was killed"):
        sandbox.run(COMMAND)


def test_a_run_that_was_cancelled_before_starts_nothing(folders: SandboxFolders) -> None:
    def never() -> None:
        raise AssertionError("it was started")

    cancel = Event()
    cancel.set()
    with pytest.raises(RunCancelled):
        sandbox_of(folders, ScriptedRunner(never), cancel).run(COMMAND)


def test_a_full_disk_is_a_lost_sandbox(folders: SandboxFolders) -> None:
    def full(_key: str) -> SnapshotId:
        raise OSError(28, "No space left on device")

    sandbox = sandbox_of(folders, ScriptedRunner())
    sandbox.save = full
    with pytest.raises(SandboxError, match="No space left"):
        sandbox.snapshot("key")


def test_a_command_that_fills_the_disk_is_told_so_however_fast_it_was(
    folders: SandboxFolders,
) -> None:
    gauge = FolderGauge(folders=(folders.root,), processes=tuple)
    watch = DiskWatch(gauge, Limits(disk_mib=16))
    runner = ScriptedRunner(lambda: fill(folders.home / "big", 40))
    result = sandbox_of(folders, runner, watch=watch).run(COMMAND)
    assert (result.ending, result.exceeded) == (Ending.OUT_OF_DISK, "16 MiB")


def test_without_a_watch_the_disk_may_be_filled(folders: SandboxFolders) -> None:
    runner = ScriptedRunner(lambda: fill(folders.home / "big", 40))
    assert sandbox_of(folders, runner).run(COMMAND).ok


def fill(path: Path, mib: int) -> None:
    """Write what no file system makes a hole of."""
    with path.open("wb") as file:
        for _ in range(mib):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())


def test_a_plain_tree_is_written_without_a_process(folders: SandboxFolders) -> None:
    runner = ScriptedRunner(lambda: pytest.fail("a process was started"))
    sandbox = sandbox_of(folders, runner)
    sandbox.write_tree(PurePosixPath("/workspace/a"), tar_of({"b/f": (0o4755, b"x")}))
    written = folders.workspace / "a" / "b" / "f"
    assert written.read_bytes() == b"x"
    assert stat.S_IMODE(written.stat().st_mode) == 0o755
    assert written.stat().st_uid == folders.workspace.stat().st_uid


@pytest.mark.parametrize(
    ("path", "name"),
    [("/workspace", "out/f"), ("/workspace/out", "f"), ("/workspace", "../f"), ("/opt/x", "f")],
)
def test_an_unusual_tree_is_left_to_a_process_in_the_sandbox(
    folders: SandboxFolders, tmp_path: Path, path: str, name: str
) -> None:
    (folders.workspace / "out").symlink_to(tmp_path)
    started: list[str] = []
    sandbox = sandbox_of(folders, ScriptedRunner(lambda: started.append("program")))
    sandbox.write_tree(PurePosixPath(path), tar_of({name: (0o644, b"x")}))
    assert started == ["program"]
    assert not (tmp_path / "f").exists()
    assert not (folders.root / "f").exists()


def test_a_tree_above_the_disk_limit_does_not_fit(folders: SandboxFolders) -> None:
    gauge = FolderGauge(folders=folders.all, processes=lambda: ())
    watch = DiskWatch(gauge, Limits(files=100))
    sandbox = sandbox_of(folders, ScriptedRunner(), watch=watch)
    many = {f"f{number}": (0o644, b"") for number in range(1_000)}
    with pytest.raises(DoesNotFitError, match=r"/workspace cannot be written: limit 100 files"):
        sandbox.write_tree(PurePosixPath("/workspace"), tar_of(many))


class BusyDisk(FolderGauge):
    """A disk on which other programs remove as many files as a sandbox creates."""

    def free(self) -> DiskUsage | None:
        return DiskUsage(bytes=1 << 40, files=1 << 20)


def test_a_tree_above_the_limit_does_not_fit_on_a_busy_disk(folders: SandboxFolders) -> None:
    watch = DiskWatch(BusyDisk(folders=folders.all, processes=lambda: ()), Limits(files=100))
    sandbox = sandbox_of(folders, ScriptedRunner(), watch=watch)
    sandbox.write_tree(PurePosixPath("/workspace"), tar_of({"one": (0o644, b"")}))
    many = {f"f{number}": (0o644, b"") for number in range(1_000)}
    with pytest.raises(DoesNotFitError, match=r"limit 100 files"):
        sandbox.write_tree(PurePosixPath("/workspace"), tar_of(many))


def test_a_dead_sandbox_takes_no_tree(folders: SandboxFolders) -> None:
    sandbox = sandbox_of(folders, ScriptedRunner())
    sandbox.kill()
    with pytest.raises(SandboxError, match="was killed"):
        sandbox.write_tree(PurePosixPath("/workspace"), tar_of({"f": (0o644, b"x")}))
    assert list(folders.workspace.iterdir()) == []
