"""A run's folder: complete records are appended, and nothing is overwritten.

One process at a time makes its attempts.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import count
from pathlib import Path
from threading import Lock

from pydantic import ValidationError

from agentbench.attempt.outages import storage_errors
from agentbench.attempt.record import AttemptRecord, RunId
from agentbench.core.display_text import printable
from agentbench.core.file_locks import FileLock, LockHeldError
from agentbench.core.files import sync_folder, write_atomically
from agentbench.errors import InputError, UsageError
from agentbench.runs.options import VALIDATION, refuse_file
from agentbench.runs.store.configuration import RunConfiguration, why_refused
from agentbench.runs.store.reading import (
    ATTEMPTS,
    RECORD_FILE,
    AttemptFolder,
    RunRecords,
    folders_in,
    read_run,
    record_of,
)
from agentbench.runs.store.summaries import AttemptSummary, attempt_key
from agentbench.tasks.problem import TaskId

_LOCK = "run.lock"  # the system releases it when its owner ends or is killed
# A process that only checks the lock holds it for an instant.
_LOCK_TIMEOUT = 0.2
_RUN = "run.json"
# Parallel runs may be written in another order than they began; only so many are read for `last`.
_RECENT = 20


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Keep other processes from making attempts of the run in this folder.

    Raises:
        UsageError: another process makes them.
        StorageError: the folder's disk is full, or cannot be written.
    """
    lock = FileLock(folder / _LOCK)
    with storage_errors(folder):
        try:
            lock.acquire(timeout=_LOCK_TIMEOUT)
        except LockHeldError:
            raise UsageError(
                f"{folder}: another process is making this run's attempts; wait until it ends, or "
                "stop it with Ctrl-C and continue with `agentbench resume`"
            ) from None
    try:
        yield
    finally:
        lock.release()


def is_run_locked(folder: Path) -> bool:
    """Whether a process makes attempts of the run in this folder right now; writes nothing."""
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # no attempt was ever made here, or the folder is gone
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)
    return False


def new_run_id(now: datetime) -> RunId:
    """A run's id: `20260131T235959-k3x9`, in UTC, so that ids sort by time."""
    letters = "".join(secrets.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(4))
    return RunId(f"{now.astimezone(UTC):%Y%m%dT%H%M%S}-{letters}")


class RunStore:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = Lock()

    @classmethod
    def create(cls, runs_dir: Path, configuration: RunConfiguration) -> "RunStore":
        """Make the folder of a new run.

        Raises:
            UsageError: a run with that id exists, or the folder cannot be written.
        """
        folder = runs_dir / configuration.run_id
        try:
            folder.mkdir(parents=True)
            store = cls(folder)
            store._write(configuration)
            sync_folder(runs_dir)
        except FileExistsError:
            raise UsageError(
                f"{folder}: already exists; choose another --run-id, or `agentbench resume` it"
            ) from None
        except OSError as error:
            raise UsageError(
                f"{folder}: cannot be written ({error.strerror}); choose another --runs-dir"
            ) from error
        return store

    @classmethod
    def open(cls, folder: Path) -> "RunStore":
        """The folder of a run that exists.

        Raises:
            InputError: there is no run.
        """
        if not (folder / _RUN).is_file():
            raise InputError(f"{folder}: no run here; expected a folder with a {_RUN}")
        return cls(folder)

    def configuration(self) -> RunConfiguration:
        """The configuration of the run.

        Raises:
            InputError: run.json is damaged, or of a newer agentbench.
        """
        path = self.folder / _RUN
        content = path.read_bytes()
        try:
            return RunConfiguration.model_validate_json(content)
        except ValidationError as error:
            why = why_refused(error, str(path), content)
            raise InputError(
                f"{path}: {why}; its records can still be read: "
                f"`agentbench report {self.folder}`, `agentbench show {self.folder} TASK`"
            ) from None

    def write_configuration(self, configuration: RunConfiguration) -> None:
        """Write run.json completely or not at all.

        Raises:
            StorageError: the disk is full.
        """
        with storage_errors(self.folder):
            self._write(configuration)

    def _write(self, configuration: RunConfiguration) -> None:
        text = configuration.json_with_checksum(indent=1) + "\n"
        write_atomically(self.folder / _RUN, text.encode(), durable=True)

    def attempt_folder(self, task_id: TaskId, attempt: int) -> tuple[Path, int]:
        """Make a new folder for an attempt; also returns the number of earlier tries.

        Raises:
            StorageError: the disk is full.
        """
        parent = self.folder / "attempts" / task_id
        with storage_errors(self.folder):
            _make_durably(parent)
            retry = 0
            while True:
                folder = parent / (f"{attempt}.retry-{retry}" if retry else str(attempt))
                try:
                    folder.mkdir()
                except FileExistsError:
                    retry += 1
                else:
                    sync_folder(parent)
                    return folder, retry

    def folder_of(self, record: AttemptRecord | AttemptSummary) -> Path:
        return self.folder / "attempts" / AttemptSummary.of(record).folder_name

    def rescored_folder(self, record: AttemptRecord) -> Path:
        """Create a folder for a record that was judged again, next to the attempt's own."""
        first = self.folder_of(record)
        for number in count(1):
            folder = first.with_name(f"{first.name}.rescored-{number}")
            if not folder.exists():
                folder.mkdir(parents=True)
                return folder
        raise AssertionError  # pragma: no cover - count() does not end

    def append(self, record: AttemptRecord, folder: Path) -> None:
        """Store a record: indented in its folder, and as one line that is on disk on return.

        Raises:
            StorageError: the disk is full.
        """
        page = record.json_with_checksum(indent=1).encode() + b"\n"
        with storage_errors(folder):
            write_atomically(folder / RECORD_FILE, page, durable=True)
            self._append(record)

    def _append(self, record: AttemptRecord) -> None:
        line = record.json_with_checksum().encode() + b"\n"
        path = self.folder / ATTEMPTS
        with self._lock, path.open("ab+") as target:
            first = not target.tell()
            if not first:
                target.seek(-1, os.SEEK_END)
                # A crash may have torn the last line, which stays as it is, on its own line.
                if target.read(1) != b"\n":
                    target.write(b"\n")
            target.write(line)
            target.flush()
            os.fsync(target.fileno())
            if first:
                sync_folder(self.folder)

    def latest(self) -> tuple[AttemptRecord, ...]:
        """The last complete record of each attempt, for runs that fit into memory.

        Raises:
            InputError: a record is of a newer agentbench.
        """
        reading = read_run(self.folder)
        return tuple(reading.records(reading.latest()))

    def recover(self) -> tuple[str, ...]:
        """Append the records whose lines a crash or damage took; returns what was done and lost.

        Only the process that makes the run's attempts calls this.

        Raises:
            InputError: a record is of a newer agentbench.
            StorageError: the disk is full.
        """
        reading = read_run(self.folder)
        lines: dict[tuple[str, int], list[int]] = {}
        for number, summary in enumerate(reading.summaries):
            lines.setdefault(attempt_key(summary), []).append(number)
        messages = []
        for task in folders_in(self.folder / "attempts"):
            folders: dict[int, list[AttemptFolder]] = {}
            for name in folders_in(self.folder / "attempts" / task):
                if (found := AttemptFolder.of(f"{task}/{name}")) is not None:
                    folders.setdefault(found.attempt, []).append(found)
            for attempt, own in sorted(folders.items()):
                numbers = lines.get((task, attempt), [])
                if len(numbers) < len(own):  # otherwise each folder has its line
                    messages.append(self._restore(own, reading, numbers))
        return tuple(filter(None, messages))

    def _restore(
        self, folders: list[AttemptFolder], reading: RunRecords, numbers: list[int]
    ) -> str | None:
        # Each record is also in the folder of its attempt. Only the last one of an attempt is
        # appended, since the last line of an attempt counts.
        last_try = max(folder.retry for folder in folders)
        found = [folder for folder in folders if folder.retry == last_try]
        paths = [self.folder / "attempts" / folder.name / RECORD_FILE for folder in sorted(found)]
        complete = [path for path in paths if path.is_file() and not path.is_symlink()]
        if not complete:
            recorded = [reading.summaries[number].retry_of or 0 for number in numbers]
            is_lost = last_try not in recorded
            return f"{paths[0].parent}: was interrupted and left no record" if is_lost else None
        path = complete[-1]
        record = record_of(path.read_bytes(), str(path))
        if isinstance(record, str):
            return f"{record}; the attempt is repeated unless it has a line in {ATTEMPTS}"
        owner = AttemptSummary.of(record).folder_name
        if f"{path.parent.parent.name}/{path.parent.name.partition('.rescored-')[0]}" != owner:
            return f"{path}: is the record of {owner}"
        if record in reading.records(numbers):
            return None
        with storage_errors(self.folder):
            self._append(record)
        return f"{path}: its line in {ATTEMPTS} was lost, and is written again"


def _make_durably(folder: Path) -> None:
    """Make a folder of a run and those above it; an existing one needs no write."""
    try:
        folder.mkdir()
    except FileExistsError:
        return
    except FileNotFoundError:
        _make_durably(folder.parent)
        folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def run_folders(runs_dir: Path, *, validation: bool = False) -> list[Path]:
    """The folders of runs, the newest first: of agents, or of `agentbench validate`.

    Raises:
        UsageError: `runs_dir` is not a folder.
    """
    refuse_file(runs_dir)
    below = runs_dir / VALIDATION if validation else runs_dir
    return sorted(_folders(below), key=_started_at, reverse=True)


def _folders(below: Path) -> list[Path]:
    return [path.parent for path in below.glob(f"*/{_RUN}") if path.is_file()]


def find_run(name: str, runs_dir: Path) -> Path:
    """The folder of a run: a path, an id below `runs_dir`, the note of one run, or `last`.

    Runs that validate tasks are found by their ids, and are never `last`.

    Raises:
        InputError: there is no such run.
        UsageError: `runs_dir` is not a folder.
    """
    refuse_file(runs_dir)
    if name == "last" and not Path(name).exists():
        folders = _folders(runs_dir)
        if not folders:
            raise InputError(f"{runs_dir}: no run here yet; `agentbench run` creates one")
        recent = sorted(folders, key=lambda folder: (folder / _RUN).stat().st_mtime_ns)[-_RECENT:]
        # By their starts, since ids that a user chose need not sort by time.
        return max(recent, key=_started_at)
    for folder in (Path(name), runs_dir / name, runs_dir / VALIDATION / name):
        if (folder / _RUN).is_file():
            return folder
    folders = _folders(runs_dir)
    noted = [folder for folder in folders if _note(folder) == name]
    if len(noted) == 1:
        return noted[0]
    if noted:
        ids = ", ".join(sorted(folder.name for folder in noted))
        raise InputError(f"{name!r} is the note of several runs: {ids}; give an id")
    near = get_close_matches(name, [folder.name for folder in folders], n=3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise InputError(
        f"{printable(name)}: no run with that name in {runs_dir}; {hint}`agentbench runs` lists "
        f"runs; a folder with a {_RUN} is one, too"
    )


def _note(folder: Path) -> str | None:
    try:
        return RunStore.open(folder).configuration().note
    except (InputError, OSError):
        return None


def _started_at(folder: Path) -> datetime:
    try:
        return RunStore.open(folder).configuration().started_at
    # A damaged run does not hide the others.
    except InputError:
        return datetime.min.replace(tzinfo=UTC)
