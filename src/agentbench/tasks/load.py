"""Reading tasks from disk: everything wrong with any of them is said before anything runs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import GitCloneError, InputError
from agentbench.tasks.answer_key import AnswerKey
from agentbench.tasks.draft import PROOF_FILE, TASK_FILE, Draft, is_bundle, read_draft
from agentbench.tasks.mirror import Mirrors, tree_digest
from agentbench.tasks.overlay import PatchDoesNotApplyError, overlay_of
from agentbench.tasks.problem import AgentLimits, Problem, TaskId
from agentbench.tasks.source import RepoSource
from agentbench.tasks.suite import suite_members
from agentbench.tasks.task import Environment, Setup, Task
from agentbench.tasks.task_file import TaskFile
from agentbench.tasks.verifier import SolutionScript, Verifier


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
    bearers: dict[TaskId, list[Path]] = {}
    for folder in _once(_folders(paths, faults, warnings)):
        draft = read_draft(folder)
        if draft.task_id is not None:
            bearers.setdefault(draft.task_id, []).append(folder)
        try:
            tasks.append(_finished(draft, mirrors))
        except InputError as error:
            faults.extend(error.faults)
    for task_id, folders in bearers.items():
        if len(folders) > 1:
            where = ", ".join(map(str, folders))
            faults.append(f"{task_id}: the id of more than one task: {where}; give each its own")
    if not faults and not tasks:
        shown = ", ".join(map(str, paths))
        faults.append(f"{shown}: no task here; a task is a folder with a {TASK_FILE}")
    if faults:
        raise InputError(*faults)
    return Catalogue(tasks=tuple(tasks), warnings=tuple(warnings))


def load_task(folder: Path, *, mirrors: Mirrors) -> Task:
    """Read one task's folder.

    Raises:
        InputError: a file of it is missing or wrong: all faults at once.
    """
    return _finished(read_draft(folder), mirrors)


def _finished(draft: Draft, mirrors: Mirrors) -> Task:
    if draft.faults:
        raise InputError(*draft.faults)
    try:
        task = _task(draft)
        faults = tuple(_patch_faults(task, mirrors))
    except OSError as error:
        raise InputError(f"{draft.folder}: cannot be read: {error}") from None
    if faults:
        raise InputError(*faults)
    return task


def _task(draft: Draft) -> Task:
    folder, table, task_id = draft.folder, draft.table, draft.task_id
    assert table is not None  # a draft without faults is whole
    assert task_id is not None
    tests, setup, environment = table.tests, table.setup, table.environment
    return Task(
        problem=Problem(
            id=task_id,
            title=table.title,
            tags=table.tags,
            instruction=draft.instruction,
            test_command=tests.command,
            test_paths=tests.paths,
            test_timeout_s=(table.verifier or tests).timeout_s,
            test_env=environment.env,
            limits=AgentLimits(**table.agent.model_dump()),
        ),
        answer_key=AnswerKey(
            tests_patch=_optional(folder / "tests.patch"),
            solution_patch=_optional(folder / "solution.patch"),
            fail_to_pass=tests.fail_to_pass,
            pass_to_pass=tests.pass_to_pass,
            protected=tests.protected,
            quarantined=tuple(test.id for test in tests.quarantined),
            verifier=Verifier(**table.verifier.model_dump()) if table.verifier else None,
            solution=SolutionScript(**table.solution.model_dump()) if table.solution else None,
        ),
        folder=folder,
        source=_source(folder, table),
        environment=Environment(
            dockerfile=folder / environment.dockerfile if environment.dockerfile else None,
            **environment.model_dump(exclude={"dockerfile"}),
        ),
        setup=Setup(**setup.model_dump()),
        controls=table.integrity.controls,
        digest=tree_digest(folder, without={PROOF_FILE}),
    )


def _source(folder: Path, table: TaskFile) -> RepoSource:
    repo = table.repo
    if repo.path is not None:
        return RepoSource(files=(folder / repo.path).resolve())
    if repo.workdir is not None:
        return RepoSource(workdir=repo.workdir)
    assert repo.url is not None
    url = str((folder / repo.url).resolve()) if is_bundle(repo.url) else repo.url
    return RepoSource(url=url, commit=repo.commit)


def _patch_faults(task: Task, mirrors: Mirrors) -> Iterator[str]:
    """Whether both patches fit; for a URL that is found out once the repository is fetched."""
    if task.source.files is None:
        return
    try:
        mirror = mirrors.of(task.source)
    except GitCloneError as error:
        yield f"{task.folder / TASK_FILE}: repo.path: {error}"
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
        elif (path / TASK_FILE).is_file():
            yield path
        elif path.is_dir():
            members = list(_members(path, warnings))
            if not members:
                warnings.append(f"{path}: has no task, left out")
            yield from members
        else:
            faults.append(f"{path}: no such folder; expected a task, a folder of tasks or a suite")


def _once(folders: Iterable[Path]) -> Iterator[Path]:
    """Each folder once, however many paths lead to it."""
    seen: set[Path] = set()
    for folder in folders:
        if folder.resolve() not in seen:
            seen.add(folder.resolve())
            yield folder


def _members(parent: Path, warnings: list[str]) -> Iterator[Path]:
    for folder in sorted(path for path in parent.iterdir() if path.is_dir()):
        if (folder / TASK_FILE).is_file():
            yield folder
        elif not folder.name.startswith((".", "__")):
            warnings.append(f"{folder}: has no {TASK_FILE}, left out")


def _optional(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
