import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Event

import pytest

from agentbench.errors import RunCancelled, SandboxError
from agentbench.sandbox.disk_usage import DiskWatch, FolderGauge
from agentbench.sandbox.folder_sandbox import (
    FolderSandbox,
    InsidePaths,
    SandboxFolders,
    sandbox_folders,
)
from agentbench.sandbox.interface import Command, Limits, SnapshotId
from agentbench.scoring.evidence import CommandResult, Ending

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
