"""A new task's folder, written whole or not at all."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import tomlkit

from agentbench.errors import InputError, UsageError
from agentbench.tasks.draft import TASK_FILE, read_draft
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_file import TaskFile

_ORDER = (
    "repo", "environment", "setup", "tests", "verifier", "solution", "agent", "integrity"
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """All that a task's folder is to hold."""

    id: TaskId
    table: TaskFile
    instruction: str
    tests_patch: bytes = b""
    solution_patch: bytes = b""
    folders: Mapping[str, Path] = field(default_factory=dict)
    """Folders to copy, by the name that they get: `repo`, `environment`. Links stay links."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """More files, by their path in the task's folder."""
    copies: Mapping[str, Path] = field(default_factory=dict)
    """Files to copy with their modes, by their path in the task's folder. Links stay links."""


def write_task(new: NewTask, parent: Path, *, replace: bool = False) -> Path:
    """Write a task's folder below `parent`, and give its path.

    It is made beside its place, read as any task's folder is, and moved there once it is whole.

    Raises:
        InputError: it would be no right task: all its faults.
        UsageError: the folder is there already (`replace` replaces it), or cannot be written.
    """
    place = parent / new.id
    if os.path.lexists(place) and not replace:
        raise UsageError(f"{place}: is there already; give another --out, or --replace")
    try:
        parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(mkdtemp(prefix=".new-", dir=parent))
    except OSError as error:
        raise UsageError(f"{parent}: cannot be written: {error.strerror}") from error
    try:
        made = scratch / new.id
        _fill(made, new)
        faults = [fault.replace(f"{scratch}/", f"{parent}/") for fault in read_draft(made).faults]
        if faults:
            raise InputError(*faults)
        if os.path.lexists(place):
            place.rename(scratch / "before")
        made.rename(place)
    except OSError as error:
        raise UsageError(f"{place}: cannot be written: {error}") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return place


def _fill(made: Path, new: NewTask) -> None:
    made.mkdir()
    for name, source in new.folders.items():
        shutil.copytree(source, made / name, symlinks=True)
    for name, source in new.copies.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, made / name, follow_symlinks=False)
    for name, content in new.files.items():
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (made / TASK_FILE).write_text(task_toml(new.table), "utf-8")
    (made / "instruction.md").write_text(new.instruction.rstrip("\n") + "\n", "utf-8")
    for name, patch in (("tests.patch", new.tests_patch), ("solution.patch", new.solution_patch)):
        if patch.strip():
            (made / name).write_bytes(patch)


def task_toml(table: TaskFile) -> str:
    """The text of a `task.toml`: what differs from the defaults, tables in the usual order."""
    values = table.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    document = tomlkit.document()
    document["schema_version"] = values.pop("schema_version", table.schema_version)
    for name in ("id", "title", "tags"):
        if name in values:
            document[name] = values.pop(name)
    for name in sorted(values, key=_ORDER.index):
        document[name] = _table(values[name])
    return tomlkit.dumps(document)


def _table(values: Mapping[str, object]) -> tomlkit.items.Table:
    table = tomlkit.table()
    for name, value in values.items():
        if isinstance(value, list) and len(value) > 1:
            array = tomlkit.array()
            array.extend(value)
            table[name] = array.multiline(multiline=True)
        else:
            table[name] = value
    return table
