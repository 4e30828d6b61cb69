"""Writes task folders atomically, and the lists of tests in a task.toml."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType

import tomlkit
from tomlkit.items import AbstractTable, Array

from agentbench.core.files import own_folder, write_atomically
from agentbench.errors import InputError, UsageError
from agentbench.scoring.evidence import NodeId
from agentbench.tasks.loading import TASK_FILE, read_draft
from agentbench.tasks.problem import TaskId
from agentbench.tasks.steps import INSTRUCTION_FILE
from agentbench.tasks.task_file import TaskFile

_RATE_DIGITS = 3  # decimals of a rate


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """The content of a task's folder before it is written."""

    id: TaskId
    table: TaskFile
    instruction: str
    tests_patch: bytes = b""
    solution_patch: bytes = b""
    folders: Mapping[str, Path] = field(default_factory=dict)
    """Folders to copy, by their new names, such as `repo`. Links stay links."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """More files, by their path in the task's folder."""
    copies: Mapping[str, Path] = field(default_factory=dict)
    """Files to copy with their modes, by their path in the task's folder. Links stay links."""


def write_task(new: NewTask, parent: Path, *, replace: bool = False) -> Path:
    """Write a task's folder into `parent`, and return its path.

    The task is written to a temporary folder, loaded as a check, and then moved into place.

    Raises:
        InputError: the result is not a valid task; all its faults.
        UsageError: the folder exists and `replace` is not set, or it cannot be written.
    """
    target = parent / new.id
    try:
        with new_folder(target, replace=replace) as path:
            for name, source in new.folders.items():
                shutil.copytree(source, path / name, symlinks=True)
            for name, source in new.copies.items():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, path / name, follow_symlinks=False)
            patches = {"tests.patch": new.tests_patch, "solution.patch": new.solution_patch}
            written = {name: patch for name, patch in patches.items() if patch.strip()}
            if not new.table.steps:
                written[INSTRUCTION_FILE] = (new.instruction.rstrip("\n") + "\n").encode()
            contents = {**new.files, TASK_FILE: task_toml(new.table).encode(), **written}
            for name, content in contents.items():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                (path / name).write_bytes(content)
            faults = read_draft(path).faults
            if faults:
                raise InputError(*(fault.replace(str(path), str(target)) for fault in faults))
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror}") from error
    return target


@contextmanager
def new_folder(target: Path, *, replace: bool) -> Iterator[Path]:
    """An empty folder next to `target`, which gets that name at the end of the block.

    Args:
        target: The new folder's path.
        replace: Whether to replace an existing folder.

    Raises:
        UsageError: `target` exists and `replace` is not set, or its parent cannot be written.
    """
    if os.path.lexists(target) and not replace:
        raise UsageError(f"{target}: already exists; give another --out, or --replace")
    parent = target.parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(mkdtemp(prefix=".new-", dir=parent))
    except OSError as error:
        raise UsageError(f"{parent}: cannot be written: {error.strerror}") from error
    try:
        # A later import removes it if this process is killed.
        with own_folder(scratch):
            path = scratch / target.name
            path.mkdir()
            yield path
            if os.path.lexists(target):
                target.rename(scratch / "before")
            path.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def task_toml(table: TaskFile) -> str:
    """The text of a `task.toml`: the values that are not defaults, tables in the usual order."""
    values = table.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    if table.steps:  # a default there is not that of the task's own table
        values["steps"] = [
            each.model_dump(mode="json", exclude_unset=True, exclude_none=True)
            for each in table.steps
        ]
    for name, value in values.items():
        if isinstance(value, dict):
            table_item = tomlkit.table()
            for key, each in value.items():
                is_long = isinstance(each, list) and len(each) > 1
                table_item[key] = _array(each) if is_long else each
            values[name] = table_item
    return tomlkit.dumps(values)


def write_test_lists(
    task_file: Path,
    *,
    fail_to_pass: Sequence[NodeId],
    pass_to_pass: Sequence[NodeId] | None,
    quarantined: Mapping[NodeId, float] = MappingProxyType({}),
) -> None:
    """Replace both lists of tests, and add tests to those that are quarantined as flaky.

    Args:
        task_file: The task.toml.
        fail_to_pass: The tests to fix.
        pass_to_pass: The tests to keep passing; None: that list stays as it is.
        quarantined: For each flaky test, the share of its runs with a minority outcome.
    """
    # As bytes: its line ends stay as they are.
    document = tomlkit.parse(task_file.read_bytes())
    tests = document.setdefault("tests", tomlkit.table())
    assert isinstance(tests, AbstractTable)  # the file is a valid task.toml
    # Comments below the keys may be about the next table, such as a commented `[agent]`: keys
    # below them would become that table's when it is used.
    body = tests.value.body
    keys = max((n for n, (key, _) in enumerate(body, start=1) if key is not None), default=0)
    comments, body[keys:] = body[keys:], []
    tests["fail_to_pass"] = _array(fail_to_pass)
    if pass_to_pass is not None:
        tests["pass_to_pass"] = _array(pass_to_pass)
    if quarantined:
        before = [dict(one) for one in tests.get("quarantined", ()) if one["id"] not in quarantined]
        added = [{"id": n, "rate": round(rate, _RATE_DIGITS)} for n, rate in quarantined.items()]
        rows = []
        for each in (*before, *added):
            row = tomlkit.inline_table()
            row.update(each)
            rows.append(row)
        tests["quarantined"] = _array(rows)
    body.extend(comments)
    write_atomically(task_file, tomlkit.dumps(document).encode())


def _array(values: Sequence[object]) -> Array:
    array = tomlkit.array()
    array.extend(values)
    return array.multiline(multiline=True)
