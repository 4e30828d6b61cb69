"""A run's folder: records are appended whole, and nothing is ever overwritten or deleted."""

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from threading import Lock

from pydantic import ValidationError

from agentbench.errors import InputError, UsageError
from agentbench.runs.configuration import RunConfiguration
from agentbench.runs.record import SCHEMA_VERSION, AttemptRecord, RunId
from agentbench.runs.storage import writing_into
from agentbench.tasks.problem import TaskId

_RUN = "run.json"
_ATTEMPTS = "attempts.jsonl"
_RECENT = 20  # runs that may be under way at once; only their run.json is read for `last`


def new_run_id(now: datetime) -> RunId:
    """A run's id: `20260131T235959-k3x9`, in UTC, so that ids sort by time."""
    letters = "".join(secrets.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(4))
    return RunId(f"{now.astimezone(UTC):%Y%m%dT%H%M%S}-{letters}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRecords:
    """The records of a run, and what could not be read of them."""

    records: tuple[AttemptRecord, ...]
    warnings: tuple[str, ...] = ()


class RunStore:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = Lock()

    @classmethod
    def create(cls, runs_dir: Path, configuration: RunConfiguration) -> "RunStore":
        """Make the folder of a new run.

        Raises:
            UsageError: a run of that id exists, or the folder cannot be written.
        """
        folder = runs_dir / configuration.run_id
        try:
            folder.mkdir(parents=True)
            store = cls(folder)
            store._write(configuration)
        except FileExistsError:
            raise UsageError(
                f"{folder}: exists already; choose another --run-id, or `agentbench resume` it"
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
        """What the run was asked to do.

        Raises:
            InputError: run.json is damaged, or of a newer agentbench.
        """
        path = self.folder / _RUN
        try:
            return RunConfiguration.model_validate_json(path.read_bytes())
        except ValidationError as error:
            _refuse_newer(str(path), path.read_bytes())
            raise InputError(f"{path}: {_why_invalid(error)}") from None

    def write_configuration(self, configuration: RunConfiguration) -> None:
        """Write run.json, whole or not at all.

        Raises:
            StorageError: the disk is full.
        """
        with writing_into(self.folder):
            self._write(configuration)

    def _write(self, configuration: RunConfiguration) -> None:
        scratch = self.folder / f"{_RUN}.new"
        with scratch.open("w", encoding="utf-8") as target:
            target.write(configuration.model_dump_json(indent=1) + "\n")
            target.flush()
            os.fsync(target.fileno())  # or a power cut could leave an empty file of that name
        scratch.replace(self.folder / _RUN)

    def attempt_folder(self, task_id: TaskId, attempt: int) -> tuple[Path, int]:
        """Make a new folder for an attempt; also says how many tries went before it.

        Raises:
            StorageError: the disk is full.
        """
        with writing_into(self.folder):
            return self._new_folder(self.folder / "attempts" / task_id, attempt)

    def _new_folder(self, parent: Path, attempt: int) -> tuple[Path, int]:
        parent.mkdir(parents=True, exist_ok=True)
        retry = 0
        while True:
            folder = parent / (f"{attempt}.retry-{retry}" if retry else str(attempt))
            try:
                folder.mkdir()
            except FileExistsError:
                retry += 1
            else:
                return folder, retry

    def folder_of(self, record: AttemptRecord) -> Path:
        """Where an attempt's files are."""
        retry = f".retry-{record.retry_of}" if record.retry_of else ""
        return self.folder / "attempts" / record.task_id / f"{record.attempt}{retry}"

    def rescored_folder(self, record: AttemptRecord) -> Path:
        """Make a folder for a record that was judged again, beside the attempt's own."""
        first = self.folder_of(record)
        for number in count(1):
            folder = first.with_name(f"{first.name}.rescored-{number}")
            if not folder.exists():
                folder.mkdir(parents=True)
                return folder
        raise AssertionError  # pragma: no cover - count() does not end

    def append(self, record: AttemptRecord, folder: Path) -> None:
        """Keep a record: indented in its folder, and as one line that is on disk on return.

        Raises:
            StorageError: the disk is full.
        """
        line = record.model_dump_json().encode() + b"\n"
        with writing_into(folder):
            (folder / "record.json").write_text(record.model_dump_json(indent=1) + "\n", "utf-8")
            self._append(line)

    def _append(self, line: bytes) -> None:
        with self._lock, (self.folder / _ATTEMPTS).open("ab") as target:
            if target.tell() and not self._ends_whole():
                target.write(b"\n")  # a torn line stays what it is, alone
            target.write(line)
            target.flush()
            os.fsync(target.fileno())

    def read(self) -> ReadRecords:
        """Every record in the order they were appended; torn lines are set aside.

        Raises:
            InputError: a record is of a newer agentbench.
        """
        path = self.folder / _ATTEMPTS
        records: list[AttemptRecord] = []
        warnings: list[str] = []
        for number, line in _lines(path):
            try:
                records.append(AttemptRecord.model_validate_json(line))
            except ValidationError as error:
                _refuse_newer(f"{path}:{number}", line)
                warnings.append(f"{path}:{number}: set aside: {_why_invalid(error)}")
        return ReadRecords(records=tuple(records), warnings=tuple(warnings))

    def latest(self) -> ReadRecords:
        """One record per attempt: the last one written of its tries."""
        everything = self.read()
        last = {(record.task_id, record.attempt): record for record in everything.records}
        return ReadRecords(records=tuple(last.values()), warnings=everything.warnings)

    def _ends_whole(self) -> bool:
        with (self.folder / _ATTEMPTS).open("rb") as source:
            source.seek(-1, os.SEEK_END)
            return source.read(1) == b"\n"


def find_run(name: str, runs_dir: Path) -> Path:
    """The folder of a run: a path, an id below `runs_dir`, or `last`.

    Raises:
        InputError: there is no such run.
    """
    if name == "last" and not Path(name).exists():
        return _newest(runs_dir)
    for folder in (Path(name), runs_dir / name):
        if (folder / _RUN).is_file():
            return folder
    raise InputError(f"{name}: no run of that name; expected a folder with a {_RUN} or an id")


def _newest(runs_dir: Path) -> Path:
    """The run that began last; ids that somebody chose need not sort by time."""
    folders = [path.parent for path in runs_dir.glob(f"*/{_RUN}")]
    if not folders:
        raise InputError(f"{runs_dir}: no run here yet; `agentbench run` makes one")
    recent = sorted(folders, key=lambda folder: (folder / _RUN).stat().st_mtime_ns)[-_RECENT:]
    return max(recent, key=_began)


def _began(folder: Path) -> datetime:
    try:
        return RunStore.open(folder).configuration().started_at
    except InputError:  # damaged, and no reason to hide the others
        return datetime.min.replace(tzinfo=UTC)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if not path.is_file():
        return
    with path.open("rb") as source:
        for number, line in enumerate(source, start=1):
            if line.strip():
                yield number, line


def _refuse_newer(where: str, line: bytes) -> None:
    import json

    try:
        version = json.loads(line).get("schema_version")
    except (ValueError, AttributeError, RecursionError):
        return
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise InputError(
            f"{where}: schema_version {version} is of a newer agentbench, this one reads "
            f"up to {SCHEMA_VERSION}; upgrade agentbench"
        )


def _why_invalid(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])
