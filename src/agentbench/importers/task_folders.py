"""Imports folders of tasks: converts each one and writes it."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Final

from pydantic import Field, ValidationError

from agentbench.core.files import FileContent, describe_read_error, read_regular_file
from agentbench.core.schema import Schema, describe_validation_error
from agentbench.errors import InputError, UsageError
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.writing import NewTask, write_task

_MAX_TEXT_BYTES = 4 * 2**20
_MAX_TREE_BYTES = 2**30
_MAX_FILES = 50_000
IGNORED_NAMES: Final = frozenset({".git", "__pycache__", ".DS_Store"})
"""Names of files that are not a part of a task, such as caches."""
Seconds = Annotated[float, Field(gt=0, le=7 * 24 * 3600, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedTask:
    """A task converted from a folder in another format."""

    new: NewTask
    notes: tuple[str, ...]  # the differences from its original harness


@dataclass(slots=True, kw_only=True)
class ImportResult:
    """The results of importing or exporting some tasks."""

    written: list[Path] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """The differences from the original harness, by task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFormat:
    """A format of task folders."""

    file: str  # the file that identifies a folder of this format
    read: Callable[[Path], ConvertedTask | list[Rejection]]
    """Reads a folder; returns all the reasons if it cannot be imported."""


def import_folders(
    form: FolderFormat, sources: Sequence[Path], out: Path, *, replace: bool = False
) -> ImportResult:
    """Write a task for each folder of a format in some sources.

    Raises:
        UsageError: a source is not a folder, or contains no task.
    """
    imported = ImportResult()
    for folder in _folders_with(form.file, sources):
        converted = form.read(folder)
        if isinstance(converted, ConvertedTask):
            _write(converted, folder, out, imported, replace=replace)
        else:
            imported.rejections += converted
    return imported


def _folders_with(name: str, sources: Sequence[Path]) -> Iterator[Path]:
    """The folders with a file: a source itself, or else its direct children."""
    for source in sources:
        if not source.is_dir():
            raise UsageError(f"{source}: expected a folder with a {name}, found none")
        if (source / name).is_file():
            yield source
            continue
        found = [path.parent for path in sorted(source.glob(f"*/{name}"))]
        if not found:
            raise UsageError(f"{source}: no {name} in it or in its direct subfolders")
        yield from found


def _write(
    converted: ConvertedTask, folder: Path, out: Path, imported: ImportResult, *, replace: bool
) -> None:
    new = converted.new
    if any(path.name == new.id for path in imported.written):
        message = f"has the id {new.id}, as an earlier folder"
        imported.rejections.append(Rejection(where=str(folder), what=message))
        return
    try:
        imported.written.append(write_task(new, out, replace=replace))
    except InputError as error:
        faults = [fault.replace(str(out / new.id), str(folder)) for fault in error.faults]
        imported.rejections += [Rejection(where=str(folder), what=fault) for fault in faults]
        return
    except UsageError as error:
        imported.rejections.append(Rejection(where=str(folder), what=str(error)))
        return
    imported.notes += [f"{new.id}: {note}" for note in converted.notes]


def read_text(path: Path) -> str | Rejection:
    """The text of a file of ordinary size, in UTF-8 without a byte order mark."""
    where = str(path)
    try:
        size = path.stat().st_size
        if size > _MAX_TEXT_BYTES:
            return Rejection(where=where, what=f"has {size} bytes, more than {_MAX_TEXT_BYTES}")
        text = read_regular_file(path).decode("utf-8")
    except FileNotFoundError:
        return Rejection(where=where, what="is missing")
    except (OSError, UnicodeDecodeError) as error:
        return Rejection(
            where=where, what=f"cannot be read as UTF-8 text: {describe_read_error(error)}"
        )
    if text.startswith("\ufeff"):
        return Rejection(where=where, what="begins with a byte order mark; save it without one")
    return text


def script_fault(path: Path) -> Rejection | None:
    """Why a script cannot run: it is missing, or its first line is invalid."""
    text = read_text(path)
    if isinstance(text, Rejection):
        return text
    first = text.partition("\n")[0]
    if first.startswith("#!") and first.endswith("\r"):
        message = "has Windows line ends, so its interpreter is not found; save it with LF"
        return Rejection(where=str(path), what=message)
    return None


def tree_faults(folder: Path) -> Iterator[Rejection]:
    """Why files must not be copied: links that lead out, special files, too much data."""
    root = Path(os.path.realpath(folder))
    count = size = 0
    for path in _walk(root):
        where = str(folder / path.relative_to(root))
        status = path.lstat()
        count, size = count + 1, size + status.st_size
        if count > _MAX_FILES or size > _MAX_TREE_BYTES:
            message = f"holds more than {_MAX_FILES} files or {_MAX_TREE_BYTES >> 20} MiB"
            yield Rejection(where=str(folder), what=message)
            return
        if stat.S_ISLNK(status.st_mode):
            target = Path(os.path.realpath(path))
            if path.readlink().is_absolute() or not target.is_relative_to(root):
                yield Rejection(where=where, what="is a symlink that leaves the task's folder")
        elif not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            yield Rejection(where=where, what="is neither a file nor a folder")


def _walk(folder: Path) -> Iterator[Path]:
    """All entries in a folder except ignored ones; no link is followed."""
    for path in sorted(folder.iterdir()):
        if path.name in IGNORED_NAMES:
            continue
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)


def validation_rejections(
    error: ValidationError, model: type[Schema], *, where: str, instance: str = ""
) -> list[Rejection]:
    """The faults of a value, each with its field."""
    faults = (describe_validation_error(each, model).partition(": ") for each in error.errors())
    return [
        Rejection(where=where, instance=instance, field=field if what else "", what=what or field)
        for field, _, what in faults
    ]


def write_files(folder: Path, files: Mapping[PurePosixPath, FileContent | None]) -> None:
    """Write files into a folder, and remove those without content."""
    for name, file in files.items():
        path = folder / name
        if file is None:
            path.unlink(missing_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o755 if file.executable else 0o644)
