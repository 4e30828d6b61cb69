"""A run's folder as somebody may have left it: odd files are refused before they are parsed."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import InputError
from agentbench.runs.configuration import RunConfiguration
from agentbench.runs.headline import Headline
from agentbench.runs.lines import read_lines
from agentbench.runs.record import AttemptRecord
from agentbench.runs.store import ReadRecords, RunStore

_CONFIGURATION_BYTES = 64 * 1024 * 1024
_LINE_BYTES = 512 * 1024 * 1024  # the longest that is parsed; a run of 100,000 tests has 30 MiB
_FILE_BYTES = 512 * 1024 * 1024
_CHUNK = 1024 * 1024
_RUN, _ATTEMPTS = "run.json", "attempts.jsonl"


class UnreadableError(ValueError):
    """A file of a run cannot be read; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """One run: what it was asked, its records, and a careful way to its files."""

    folder: Path
    configuration: RunConfiguration
    everything: ReadRecords  # each line of attempts.jsonl
    latest: tuple[AttemptRecord, ...]  # the last word on each attempt

    def read(self, relative: str, *, limit: int = _FILE_BYTES) -> bytes:
        """The content of a file of the run.

        Raises:
            UnreadableError: it is missing, no regular file, too large, or outside of the run.
        """
        return _read(self.folder, relative, limit)

    def record_files(self) -> Iterator[str]:
        """Every record.json below attempts/, relative to the folder."""
        for path in sorted((self.folder / "attempts").glob("*/*/record.json")):
            yield path.relative_to(self.folder).as_posix()

    def place_of(self, record: AttemptRecord) -> str:
        """An attempt's own folder, relative to the run's; a made-up id may lead anywhere."""
        return f"attempts/{Headline.of(record).place}"


def open_run(folder: Path) -> RunFolder:
    """Read a run's configuration and all its records.

    Raises:
        InputError: it is no run, run.json is damaged, or it is of a newer agentbench.
    """
    for name in (_RUN, _ATTEMPTS):
        _refuse_odd(folder / name, must_be=name == _RUN)
    store = RunStore.open(folder)
    try:
        lines, set_aside = read_lines(folder)
        configuration = store.configuration()
    except RecursionError:
        raise InputError(f"{folder}: a record is nested too deeply to be read") from None
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror or error}") from None
    last = {(record.task_id, record.attempt): record for record in lines}
    return RunFolder(
        folder=folder,
        configuration=configuration,
        everything=ReadRecords(records=tuple(lines), warnings=tuple(set_aside)),
        latest=tuple(last.values()),
    )


def is_run(folder: Path) -> bool:
    """Whether there is a run, or what is left of one."""
    return os.path.lexists(folder / _RUN)


def _refuse_odd(path: Path, *, must_be: bool) -> None:
    """Refuse what would read on for ever, or fill the memory, before it is parsed."""
    try:
        mode = path.lstat()
    except FileNotFoundError:
        if must_be:
            raise InputError(f"{path}: is missing; expected a run's folder") from None
        return
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if not stat.S_ISREG(mode.st_mode):
        raise InputError(f"{path}: expected a regular file, found a link, folder or device")
    if must_be and mode.st_size > _CONFIGURATION_BYTES:
        raise InputError(f"{path}: {mode.st_size} bytes are too many for a run.json")
    try:
        longest = 0 if must_be else _longest_line(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if longest > _LINE_BYTES:
        raise InputError(f"{path}: bears a line of over {_LINE_BYTES} bytes; no record is as long")


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


def _read(root: Path, relative: str, limit: int) -> bytes:
    try:
        whole = (root / relative).resolve()
        if not whole.is_relative_to(root.resolve()):
            raise UnreadableError("leads out of the run's folder")
        descriptor = os.open(whole, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise UnreadableError("is missing") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
        raise UnreadableError(f"cannot be read: {error}") from None
    except ValueError as error:
        raise UnreadableError(str(error)) from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise UnreadableError("is no regular file")
        if facts.st_size > limit:
            raise UnreadableError(f"has {facts.st_size} bytes, too many to be read")
        with os.fdopen(descriptor, "rb", closefd=False) as source:
            return source.read()
    finally:
        os.close(descriptor)
