import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Event

import pytest

from agentbench.core.files import is_owned
from agentbench.errors import DoesNotFitError, RunCancelled, SandboxError, UnavailableError
from agentbench.sandbox.disk_usage import DiskUsage, DiskWatch, FolderGauge
from agentbench.sandbox.folder_sandbox import (
    FolderProvider,
    FolderSandbox,
    InsidePaths,
    SandboxFolders,
    SandboxRequest,
    sandbox_folders,
)
from agentbench.sandbox.host_environment import host_python
from agentbench.sandbox.interface import Command, Limits, SnapshotId
from agentbench.sandbox.snapshot_store import SnapshotStore, StoredState
from agentbench.sandbox.trees import FileOwner
from agentbench.scoring.evidence import CommandResult, Ending
from tests.sandbox.conformance_trees import tar_of

MOVE_IN = """
import os, sys
from pathlib import Path
from agentbench.sandbox.folder_sandbox import sandbox_folders
with sandbox_folders(Path(sys.argv[1]), "", None) as folders:
    print(folders.root, flush=True)
    sys.stdin.read()
"""


def test_folders_are_empty_private_and_removed(tmp_path: Path) -> None:
    with sandbox_folders(tmp_path / "new", "box-", None) as folders:
        assert [list(folder.iterdir()) for folder in folders.all] == [[]] * len(folders.all)
        assert {folder.stat().st_mode & 0o777 for folder in folders.all} == {0o700}
        assert folders.root.name.startswith("box-")
        (folders.workspace / "locked").mkdir(mode=0o000)
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give folders away")
def test_folders_belong_to_the_user_they_are_for(tmp_path: Path) -> None:
    with sandbox_folders(tmp_path, "", FileOwner(uid=60706, gid=60707)) as folders:
        facts = folders.workspace.stat()
        assert (facts.st_uid, facts.st_gid) == (60706, 60707)


def test_folders_are_owned_until_their_process_is_dead(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", MOVE_IN, str(tmp_path))
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as tenant:
        assert tenant.stdout is not None
        root = Path(tenant.stdout.readline().strip())
        assert is_owned(root)
        tenant.kill()
    assert root.exists()
    assert not is_owned(root)


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


def test_sink_may_kill_its_sandbox(folders: SandboxFolders) -> None:
    runner = ScriptedRunner()
    sandbox = sandbox_of(folders, runner)
    runner.script = sandbox.kill
    with pytest.raises(SandboxError, match="was killed"):
        sandbox.run(COMMAND)


def test_cancelled_sandbox_starts_nothing(folders: SandboxFolders) -> None:
    def never() -> None:
        raise AssertionError("it was started")

    cancel = Event()
    cancel.set()
    with pytest.raises(RunCancelled):
        sandbox_of(folders, ScriptedRunner(never), cancel).run(COMMAND)


def test_full_disk_is_a_sandbox_error(folders: SandboxFolders) -> None:
    def full(_key: str) -> SnapshotId:
        raise OSError(28, "No space left on device")

    sandbox = sandbox_of(folders, ScriptedRunner())
    sandbox.save = full
    with pytest.raises(SandboxError, match="No space left"):
        sandbox.snapshot("key")


def test_fast_command_that_fills_the_disk_is_out_of_disk(
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
def test_unusual_tree_is_unpacked_in_the_sandbox(
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


def test_killed_sandbox_accepts_no_tree(folders: SandboxFolders) -> None:
    sandbox = sandbox_of(folders, ScriptedRunner())
    sandbox.kill()
    with pytest.raises(SandboxError, match="was killed"):
        sandbox.write_tree(PurePosixPath("/workspace"), tar_of({"f": (0o644, b"x")}))
    assert list(folders.workspace.iterdir()) == []


@dataclass(frozen=True, slots=True, kw_only=True)
class _Provider(FolderProvider):
    """Makes environments as a test says, and opens no sandboxes.

    The three methods that only an open sandbox needs are abstract, and no test here may reach them.
    """

    make: Callable[[str], None]

    @property
    def name(self) -> str:
        return "bubblewrap"

    def _fill(self, state: StoredState, folders: SandboxFolders) -> Path | None:
        raise NotImplementedError

    def _sandbox(self, request: SandboxRequest) -> FolderSandbox:
        raise NotImplementedError

    def _venv(self, folders: SandboxFolders) -> PurePosixPath:
        raise NotImplementedError

    def _make_environment(self, key: str) -> None:
        self.make(key)


def provider(folder: Path, make: Callable[[str], None] = lambda _key: None) -> FolderProvider:
    return _Provider(
        python=host_python(), user=None, cache=folder, live=folder, prefix="", environ={}, make=make
    )


def test_an_environment_is_made_once(tmp_path: Path) -> None:
    created: list[str] = []
    store = SnapshotStore(folder=tmp_path / "images", prefix="bubblewrap-image", owner=None)

    def make(key: str) -> None:
        created.append(key)
        with sandbox_folders(tmp_path / "live", "", None) as folders:
            store.save(key, folders.root)

    environments = provider(tmp_path, make)
    first = environments.resolve_image(None)
    second = environments.resolve_image(environments.python.image_name)
    assert first == second
    assert len(created) == 1


@pytest.mark.parametrize("image", ["python:3.8-slim", "agentbench/python:2.7"])
def test_another_image_is_refused_by_name(tmp_path: Path, image: str) -> None:
    with pytest.raises(UnavailableError, match=f"{image}: use a container engine"):
        provider(tmp_path).resolve_image(image)


def test_workdir_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"\(/app, /tests, /logs\): use a container engine"):
        provider(tmp_path).resolve_image(None, workdir=PurePosixPath("/app"))


def test_reason_for_a_missing_environment_is_reported(tmp_path: Path) -> None:
    def make(_key: str) -> None:
        raise SandboxError("No module named venv")

    with pytest.raises(UnavailableError, match="No module named venv"):
        provider(tmp_path, make).resolve_image(None)
