"""The facts of a run and its attempts that rules check; irregular files are never parsed."""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agentbench.attempt.record import AttemptRecord
from agentbench.audit.patch import FilePatch, parse_patch
from agentbench.audit.task_facts import TaskFacts
from agentbench.core.files import describe_read_error
from agentbench.errors import InputError
from agentbench.runs.store.configuration import RunConfiguration
from agentbench.runs.store.reading import read_run
from agentbench.runs.store.store import RunStore
from agentbench.runs.store.summaries import AttemptSummary

_CONFIGURATION_BYTES = 64 * 1024 * 1024
_LINE_BYTES = 512 * 1024 * 1024  # the longest that is parsed; a run of 100,000 tests has 30 MiB
_FILE_BYTES = 512 * 1024 * 1024
_CHUNK = 1024 * 1024
_RUN_FILE, _ATTEMPTS_FILE = "run.json", "attempts.jsonl"
_PATCH_BYTES = 256 * 1024 * 1024


class UnreadableRunFileError(ValueError):
    """A file of a run cannot be read; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """One run: its configuration, its records, and safe access to its files."""

    folder: Path
    configuration: RunConfiguration
    all_records: tuple[AttemptRecord, ...] = ()  # each line of attempts.jsonl
    set_aside: tuple[str, ...] = ()  # a sentence for each line that is not a record
    latest: tuple[AttemptRecord, ...] = ()  # the last record of each attempt

    @classmethod
    def with_one(cls, store: RunStore, record: AttemptRecord) -> "RunFolder":
        """A run of which only one record is read."""
        return cls(folder=store.folder, configuration=store.configuration(), latest=(record,))

    def read(self, relative: str, *, limit: int = _FILE_BYTES) -> bytes:
        """The content of a file of the run.

        Raises:
            UnreadableRunFileError: it is missing, irregular, too large, or outside of the run.
        """
        try:
            whole = (self.folder / relative).resolve()
            if not whole.is_relative_to(self.folder.resolve()):
                raise UnreadableRunFileError("is outside of the run's folder")
            descriptor = os.open(whole, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            raise UnreadableRunFileError("is missing") from None
        except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
            raise UnreadableRunFileError(f"cannot be read: {describe_read_error(error)}") from None
        except ValueError as error:
            raise UnreadableRunFileError(str(error)) from None
        try:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                raise UnreadableRunFileError("is not a regular file")
            if facts.st_size > limit:
                raise UnreadableRunFileError(f"is too large to be read: {facts.st_size} bytes")
            with os.fdopen(descriptor, "rb", closefd=False) as source:
                return source.read()
        finally:
            os.close(descriptor)

    def record_files(self) -> Iterator[str]:
        """Every record.json below attempts/, relative to the folder."""
        for path in sorted((self.folder / "attempts").glob("*/*/record.json")):
            yield path.relative_to(self.folder).as_posix()

    def attempt_folder_of(self, record: AttemptRecord) -> str:
        """An attempt's own folder, relative to the run's; a forged id may name any path."""
        return f"attempts/{AttemptSummary.of(record).folder_name}"


def open_run(folder: Path) -> RunFolder:
    """Read a run's configuration and all its records.

    Raises:
        InputError: it is not a run, run.json is damaged, or it is of a newer agentbench.
    """
    # A run may come from anybody: a pipe would block the reader, and a device fill its memory.
    for name in (_RUN_FILE, _ATTEMPTS_FILE):
        _refuse_irregular(folder / name, must_be=name == _RUN_FILE)
    store = RunStore.open(folder)
    try:
        reading = read_run(folder)
        lines = tuple(reading.records())
        configuration = store.configuration()
    except RecursionError:
        raise InputError(f"{folder}: a record is nested too deeply to be read") from None
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror or error}") from None
    last = {(record.task_id, record.attempt): record for record in lines}
    return RunFolder(
        folder=folder,
        configuration=configuration,
        all_records=lines,
        set_aside=reading.warnings(),
        latest=tuple(last.values()),
    )


def is_run(folder: Path) -> bool:
    """Whether there is a run, even a damaged one."""
    return os.path.lexists(folder / _RUN_FILE)


def _refuse_irregular(path: Path, *, must_be: bool) -> None:
    """Refuse a file that has no end or would fill the memory."""
    try:
        mode = path.lstat()
    except FileNotFoundError:
        if must_be:
            raise InputError(f"{path}: is missing; expected a run's folder") from None
        return
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {describe_read_error(error)}") from None
    if not stat.S_ISREG(mode.st_mode):
        raise InputError(f"{path}: expected a regular file, found a link, folder or device")
    if must_be and mode.st_size > _CONFIGURATION_BYTES:
        raise InputError(f"{path}: has {mode.st_size} bytes, too many for a run.json")
    try:
        longest = 0 if must_be else _longest_line(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if longest > _LINE_BYTES:
        raise InputError(f"{path}: has a line of over {_LINE_BYTES} bytes, longer than any record")


def _longest_line(path: Path) -> int:
    longest = length = 0
    with path.open("rb", buffering=0) as source:
        while chunk := source.read(_CHUNK):
            head, *rest = chunk.split(b"\n")
            length += len(head)
            longest = max(longest, length, *map(len, rest))
            if rest:
                length = len(rest[-1])
            if longest > _LINE_BYTES:
                break
    return longest


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFacts:
    """An attempt with its files, and its task if that still exists."""

    record: AttemptRecord
    read: Callable[[str], bytes]  # of a file in its folder; raises UnreadableRunFileError
    task: TaskFacts | None
    patch: tuple[FilePatch, ...]  # as it was judged
    raw_patch: tuple[FilePatch, ...]  # with what was dropped
    patch_text: bytes


def read_attempt(run: RunFolder, record: AttemptRecord, task: TaskFacts | None) -> AttemptFacts:
    """Read an attempt's files; missing ones are empty, and a rule reports them."""
    attempt_folder = run.attempt_folder_of(record)

    def optional(name: str, limit: int) -> bytes:
        try:
            return run.read(f"{attempt_folder}/{name}", limit=limit)
        except UnreadableRunFileError:
            return b""

    text = optional("patch.diff", _PATCH_BYTES)
    patch = parse_patch(text)
    has_raw = record.patch is not None and bool(record.patch.dropped or record.patch.tool_caches)
    raw = optional("patch.raw.diff", _PATCH_BYTES) if has_raw else b""
    return AttemptFacts(
        record=record,
        read=lambda name: run.read(f"{attempt_folder}/{name}"),
        task=task,
        patch=patch,
        raw_patch=parse_patch(raw) or patch,
        patch_text=text,
    )
