"""Reading tasks from disk: everything wrong with any of them is said before anything runs."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import GitCloneError, InputError
from agentbench.tasks.answer_key import AnswerKey
from agentbench.tasks.mirror import Mirrors, tree_digest
from agentbench.tasks.overlay import PatchDoesNotApplyError, overlay_of
from agentbench.tasks.problem import AgentLimits, Problem, TaskId
from agentbench.tasks.source import RepoSource
from agentbench.tasks.suite import suite_members
from agentbench.tasks.task import Environment, Setup, Task
from agentbench.tasks.task_file import TaskFile, parse_task_file

_NAME = "task.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The tasks that were found, and what looked odd on the way."""

    tasks: tuple[Task, ...]
    warnings: tuple[str, ...] = ()


def load_tasks(paths: Sequence[Path], *, mirrors: Mirrors) -> Catalogue:
    """Read every task below some paths: task folders, folders of them, or suite files.

    Raises:
        InputError: a task is wrong, two bear one id, or there is none; all faults at once.
    """
    faults: list[str] = []
    warnings: list[str] = []
    tasks: list[Task] = []
    for folder in dict.fromkeys(_folders(paths, faults, warnings)):
        try:
            tasks.append(load_task(folder, mirrors=mirrors))
        except InputError as error:
            faults.extend(error.faults)
    repeated = Counter(task.id for task in tasks)
    for task_id in (task_id for task_id, count in repeated.items() if count > 1):
        where = ", ".join(str(task.folder) for task in tasks if task.id == task_id)
        faults.append(f"{task_id}: the id of more than one task: {where}; give each its own")
    if not faults and not tasks:
        shown = ", ".join(map(str, paths))
        faults.append(f"{shown}: no task here; a task is a folder with a {_NAME}")
    if faults:
        raise InputError(*faults)
    return Catalogue(tasks=tuple(tasks), warnings=tuple(warnings))


def load_task(folder: Path, *, mirrors: Mirrors) -> Task:
    """Read one task's folder.

    Raises:
        InputError: a file of it is missing or wrong: all faults at once.
    """
    name = folder / _NAME
    table = parse_task_file(_text(name), name=str(name))
    faults: list[str] = list(_symlinks(folder))
    instruction = ""
    try:
        instruction = _text(folder / "instruction.md")
        if not instruction.strip():
            faults.append(f"{folder / 'instruction.md'}: is empty; it is what the agent is told")
    except InputError as error:
        faults.extend(error.faults)
    task_id = table.id if table.id is not None else TaskId(folder.resolve().name)
    if table.id is None and not _is_id(folder.resolve().name):
        faults.append(f"{name}: id: the folder's name is no id; give one of [a-z0-9._-]+")
    faults.extend(_missing_files(folder, table))
    if faults:
        raise InputError(*faults)
    task = _task(folder, table, task_id=task_id, instruction=instruction)
    faults.extend(_patch_faults(task, mirrors))
    if faults:
        raise InputError(*faults)
    return task


def _task(folder: Path, table: TaskFile, *, task_id: TaskId, instruction: str) -> Task:
    tests, setup, environment = table.tests, table.setup, table.environment
    return Task(
        problem=Problem(
            id=task_id,
            title=table.title,
            tags=table.tags,
            instruction=instruction,
            test_command=tests.command,
            test_paths=tests.paths,
            test_timeout_s=tests.timeout_s,
            limits=AgentLimits(**table.agent.model_dump()),
        ),
        answer_key=AnswerKey(
            tests_patch=_optional(folder / "tests.patch"),
            solution_patch=_optional(folder / "solution.patch"),
            fail_to_pass=tests.fail_to_pass,
            pass_to_pass=tests.pass_to_pass,
            protected=tests.protected,
        ),
        folder=folder,
        source=_source(folder, table),
        environment=Environment(
            dockerfile=folder / environment.dockerfile if environment.dockerfile else None,
            **environment.model_dump(exclude={"dockerfile"}),
        ),
        setup=Setup(**setup.model_dump()),
        digest=tree_digest(folder),
    )


def _source(folder: Path, table: TaskFile) -> RepoSource:
    repo = table.repo
    if repo.path is not None:
        return RepoSource(files=(folder / repo.path).resolve())
    assert repo.url is not None
    bundle = repo.url.endswith(".bundle") and "://" not in repo.url
    url = str((folder / repo.url).resolve()) if bundle else repo.url
    return RepoSource(url=url, commit=repo.commit)


def _patch_faults(task: Task, mirrors: Mirrors) -> Iterator[str]:
    """Whether both patches fit; for a URL that is found out once the repository is fetched."""
    if task.source.files is None:
        return
    try:
        mirror = mirrors.of(task.source)
    except GitCloneError as error:
        yield f"{task.folder / _NAME}: repo.path: {error}"
        return
    key = task.answer_key
    for name, patch in (("tests.patch", key.tests_patch), ("solution.patch", key.solution_patch)):
        try:
            overlay_of(patch, mirror)
        except PatchDoesNotApplyError as error:
            yield f"{task.folder / name}: does not apply to the base commit: {error}"


def _folders(paths: Sequence[Path], faults: list[str], warnings: list[str]) -> Iterator[Path]:
    for path in paths:
        if path.is_file():
            try:
                yield from _folders(suite_members(path), faults, warnings)
            except InputError as error:
                faults.extend(error.faults)
        elif (path / _NAME).is_file():
            yield path
        elif path.is_dir():
            yield from _members(path, warnings)
        else:
            faults.append(f"{path}: no such folder; expected a task, a folder of tasks or a suite")


def _members(parent: Path, warnings: list[str]) -> Iterator[Path]:
    for folder in sorted(path for path in parent.iterdir() if path.is_dir()):
        if (folder / _NAME).is_file():
            yield folder
        elif not folder.name.startswith((".", "__")):
            warnings.append(f"{folder}: has no {_NAME}, left out")


def _symlinks(folder: Path) -> Iterator[str]:
    root = folder.resolve()
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            yield f"{path}: a symlink that leaves the task's folder"


def _missing_files(folder: Path, table: TaskFile) -> Iterator[str]:
    name = folder / _NAME
    repo = table.repo
    if repo.path is not None and not (folder / repo.path).is_dir():
        yield f"{name}: repo.path: {folder / repo.path} is no folder"
    elif repo.path is not None and not any((folder / repo.path).iterdir()):
        yield f"{name}: repo.path: {folder / repo.path} is empty"
    dockerfile = table.environment.dockerfile
    if dockerfile is not None and not (folder / dockerfile).is_file():
        yield f"{name}: environment.dockerfile: {folder / dockerfile} is no file"


def _is_id(text: str) -> bool:
    return bool(text) and all(c in "abcdefghijklmnopqrstuvwxyz0123456789._-" for c in text)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text: {error}") from None


def _optional(path: Path) -> bytes:
    return path.read_bytes() if os.path.lexists(path) else b""
