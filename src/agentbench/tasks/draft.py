"""One task's folder as it was found, with everything that is wrong with its files."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentbench.errors import InputError
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_file import TaskFile, is_task_id, parse_task_file
from agentbench.tasks.verifier import SOLUTION_FOLDER, VERIFIER_FOLDER

TASK_FILE: Final = "task.toml"
"""The file that makes a folder a task."""

PROOF_FILE: Final = "proof.json"
"""What was found out about a task by running it; beside its task.toml, and no part of the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A folder's files, read and checked one by one."""

    folder: Path
    table: TaskFile | None  # None: task.toml is wrong
    task_id: TaskId | None
    instruction: str
    faults: tuple[str, ...]


def read_draft(folder: Path) -> Draft:
    """Read a task's folder; whatever is wrong with it is among the faults."""
    faults: list[str] = []
    name = folder / TASK_FILE
    table, instruction = None, ""
    try:
        table = parse_task_file(_text(name), name=str(name))
    except InputError as error:
        faults.extend(error.faults)
    try:
        instruction = _text(folder / "instruction.md")
    except InputError as error:
        faults.extend(error.faults)
    else:
        faults.extend(_instruction_faults(folder / "instruction.md", instruction))
    faults.extend(_odd_entries(folder, table))
    task_id = None
    if table is not None:
        task_id = table.id if table.id is not None else TaskId(folder.resolve().name)
        if not is_task_id(task_id):
            faults.append(f"{name}: id: the folder's name is no id; give one of [a-z0-9._-]+")
        faults.extend(_missing_files(folder, table))
    return Draft(
        folder=folder,
        table=table,
        task_id=task_id,
        instruction=instruction,
        faults=tuple(faults),
    )


def is_bundle(url: str) -> bool:
    """Whether a `repo.url` names a git bundle beside task.toml."""
    return url.endswith(".bundle") and "://" not in url


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text: {error}") from None


def _instruction_faults(path: Path, instruction: str) -> Iterator[str]:
    if not instruction.strip():
        yield f"{path}: is empty; it is what the agent is told"
    if "\0" in instruction:
        yield f"{path}: bears a NUL, which no command line can"


def _odd_entries(folder: Path, table: TaskFile | None) -> Iterator[str]:
    """What is no plain file: it would read on for ever, or show an agent what it must not see."""
    whole = Path(os.path.realpath(folder))
    within = table.repo.path if table is not None else None
    repo = whole / within if within is not None else None
    for path in sorted(whole.rglob("*")):
        mode = path.lstat().st_mode
        shown = folder / path.relative_to(whole)
        if stat.S_ISLNK(mode):
            root = repo if repo is not None and repo in path.parents else whole
            if not _stays_in(root, path):
                what = "repo.path" if root == repo else "the task's folder"
                yield f"{shown}: a symlink that leaves {what}"
        elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            yield f"{shown}: is neither a file nor a folder"


def _stays_in(root: Path, link: Path) -> bool:
    return not link.readlink().is_absolute() and Path(os.path.realpath(link)).is_relative_to(root)


def _missing_files(folder: Path, table: TaskFile) -> Iterator[str]:
    name = folder / TASK_FILE
    repo, dockerfile = table.repo, table.environment.dockerfile
    if repo.path is not None:
        yield from (f"{name}: repo.path: {fault}" for fault in _repo_faults(folder, repo.path))
    if repo.url is not None and is_bundle(repo.url) and not (folder / repo.url).is_file():
        yield f"{name}: repo.url: {folder / repo.url} is no file"
    if dockerfile is not None and not (folder / dockerfile).is_file():
        yield f"{name}: environment.dockerfile: {folder / dockerfile} is no file"
    yield from _script_faults(folder, table)
    for patch in ("tests.patch", "solution.patch"):
        if os.path.lexists(folder / patch) and not (folder / patch).is_file():
            yield f"{folder / patch}: is no file"


def _script_faults(folder: Path, table: TaskFile) -> Iterator[str]:
    """What is missing of a script that judges, or of one that solves."""
    if table.verifier is not None:
        yield from _folder_faults(folder / VERIFIER_FOLDER, "[verifier]")
        own = table.verifier.dockerfile
        if own is not None and not (folder / own).is_file():
            yield f"{folder / TASK_FILE}: verifier.dockerfile: {folder / own} is no file"
    if table.solution is not None:
        yield from _folder_faults(folder / SOLUTION_FOLDER, "[solution]")


def _folder_faults(place: Path, asked: str) -> Iterator[str]:
    if not place.is_dir():
        yield f"{place}: is no folder; {asked} needs the files of its script there"
    elif not any(place.iterdir()):
        yield f"{place}: is empty; {asked} needs the files of its script there"


def _repo_faults(folder: Path, path: str) -> Iterator[str]:
    repo = folder / path
    if not repo.is_dir():
        yield f"{repo} is no folder"
    elif repo.resolve() != folder.resolve() / path:
        yield f"{repo} is a symlink; give the folder itself"
    elif not any(repo.iterdir()):
        yield f"{repo} is empty"
