"""Loads tasks from disk: task folders, folders of them, and suite files.

Everything that is wrong with any of them is reported before anything runs. A suite file is TOML
with a list of task paths or globs, relative to the file:

    tasks = ["tasks/interval-*", "../other/tasks/lru-expiry"]
"""

import os
import re
import stat
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from agentbench.core.display_text import list_with_more
from agentbench.core.files import describe_read_error
from agentbench.core.host import default_cache_dir
from agentbench.core.network import Network
from agentbench.errors import GitCloneError, InputError
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.mirror import Mirrors, tree_digest
from agentbench.tasks.problem import Problem, TaskId
from agentbench.tasks.scripts import SOLUTION_FOLDER, VERIFIER_FOLDER
from agentbench.tasks.steps import (
    INSTRUCTION_FILE,
    TaskStep,
    folder_faults,
    step_faults,
    step_folder,
)
from agentbench.tasks.task import (
    AnswerKey,
    EnvironmentSettings,
    RepoSource,
    Task,
    TaskEnvironment,
)
from agentbench.tasks.task_file import TaskFile, is_git_bundle, is_task_id, parse_task_file
from agentbench.tasks.test_runner_name import PYTHON_RUNNERS, Runner

_GLOB = re.compile(r"[*?\[]")
_COMMENTS = re.compile(r"<!--.*?-->", re.DOTALL)
_MAX_NAMED = 3  # tests that a warning names
_COMMENT_BYTES = 4096  # a larger patch has more than comments
TASK_FILE: Final = "task.toml"
"""The file that makes a folder a task."""
PROOF_FILE: Final = "proof.json"
"""The results of validating a task, next to its task.toml; it is not a part of the task."""


def read_suite(path: Path) -> list[Path]:
    """The folders that a suite file names, in its order.

    Raises:
        InputError: it is not TOML, has other keys, or an entry matches nothing.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a suite file: {describe_read_error(error)}") from None
    entries = table.get("tasks")
    if set(table) != {"tasks"} or not isinstance(entries, list):
        keys = "tasks without a list" if set(table) == {"tasks"} else ", ".join(sorted(table))
        what = f"expected one key, tasks = [paths], found {keys or 'none'}"
        raise InputError(f"{path}: {what}")
    members: list[Path] = []
    faults: list[str] = []
    for entry in entries:
        found: list[Path] = []
        # A NUL, `a**`, or an absolute pattern
        with suppress(ValueError, NotImplementedError):
            if isinstance(entry, str) and _GLOB.search(entry):
                found = sorted(each for each in path.parent.glob(entry) if each.is_dir())
            elif isinstance(entry, str) and entry and (path.parent / entry).is_dir():
                found = [path.parent / entry]
        members.extend(found)
        if not found:
            faults.append(f"{path}: tasks: {entry!r} matches no folder")
    if not entries:
        faults.append(f"{path}: tasks: names no folder")
    if faults:
        raise InputError(*faults)
    return members


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDraft:
    """A folder's files, read and checked one by one."""

    folder: Path
    table: TaskFile | None  # None: task.toml is wrong
    task_id: TaskId | None
    instruction: str  # of a task with steps: all instructions, with headings
    faults: tuple[str, ...]
    step_instructions: tuple[str, ...] = ()  # in the order of the steps


def read_draft(folder: Path) -> TaskDraft:
    """Read a task's folder; the result lists everything that is wrong with it."""
    faults: list[str] = []
    name = folder / TASK_FILE
    table, instruction = None, ""
    try:
        table = parse_task_file(_read_text(name), name=str(name))
    except InputError as error:
        faults.extend(error.faults)
    steps = table.steps if table is not None else ()
    texts = [_instruction(step_folder(folder, step.name), faults) for step in steps]
    if steps:
        headed = zip(steps, texts, strict=True)
        instruction = "\n\n".join(f"# {step.name}\n\n{text.strip()}" for step, text in headed)
    else:
        instruction = _instruction(folder, faults)
    faults.extend(_invalid_entries(folder, table))
    task_id = None
    if table is not None:
        task_id = table.id if table.id is not None else TaskId(folder.resolve().name)
        if not is_task_id(task_id):
            faults.append(
                f"{name}: id: the folder's name is not a valid id; give one of [a-z0-9._-]+"
            )
        faults.extend(_missing_files(folder, table))
    else:
        # The files of `tasks init` are filled in after one message, not after two.
        faults.extend(_unwritten_files(folder, "repo"))
    return TaskDraft(
        folder=folder,
        table=table,
        task_id=task_id,
        instruction=instruction,
        faults=tuple(faults),
        step_instructions=tuple(texts),
    )


def _instruction(folder: Path, faults: list[str]) -> str:
    path = folder / INSTRUCTION_FILE
    try:
        text = _read_text(path)
    except InputError as error:
        faults.extend(error.faults)
        return ""
    if not _COMMENTS.sub("", text).strip():
        what = "has only a comment" if text.strip() else "is empty"
        faults.append(f"{path}: {what}; it holds the instruction for the agent")
    if "\0" in text:
        faults.append(f"{path}: contains a NUL character, which no command line can hold")
    return text


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read as UTF-8 text: {describe_read_error(error)}"
        ) from None


def _invalid_entries(folder: Path, table: TaskFile | None) -> Iterator[str]:
    # Other entries than plain files could be endless, or show an agent hidden files.
    whole = Path(os.path.realpath(folder))
    within = table.repo.path if table is not None else None
    repo = whole / within if within is not None else None
    for path in sorted(whole.rglob("*")):
        mode = path.lstat().st_mode
        location = folder / path.relative_to(whole)
        if stat.S_ISLNK(mode):
            root = repo if repo is not None and repo in path.parents else whole
            target = Path(os.path.realpath(path))
            if path.readlink().is_absolute() or not target.is_relative_to(root):
                what = "repo.path" if root == repo else "the task's folder"
                yield f"{location}: is a symlink that leaves {what}"
        elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            yield f"{location}: is neither a file nor a folder"


def _missing_files(folder: Path, table: TaskFile) -> Iterator[str]:
    name = folder / TASK_FILE
    repo, verifier, steps = table.repo, table.verifier, table.steps
    if repo.path is not None:
        files_folder = folder / repo.path
        if not files_folder.is_dir():
            yield f"{name}: repo.path: {files_folder} is not a folder"
        elif files_folder.resolve() != folder.resolve() / repo.path:
            yield f"{name}: repo.path: {files_folder} is a symlink; give the folder itself"
    yield from step_faults(folder, steps, is_solved=table.solution is not None)
    if verifier is not None and not steps:
        yield from folder_faults(folder / VERIFIER_FOLDER, "[verifier]")
    if table.solution is not None and not steps:
        yield from folder_faults(folder / SOLUTION_FOLDER, "[solution]")
    judges = [step.with_common(verifier) for step in steps] or [verifier] if verifier else []
    services = {service for judge in judges for service in judge.services}
    if services:
        from agentbench.tasks.compose_file import service_faults  # imports a parser

        for fault in service_faults(folder, table.environment.compose, services):
            yield f"{name}: verifier: {fault}"

    files = {
        "repo.url": repo.url if is_git_bundle(repo.url or "") else None,
        "environment.dockerfile": table.environment.dockerfile,
        "environment.compose": table.environment.compose,
        "verifier.dockerfile": table.verifier.dockerfile if table.verifier else None,
        "verifier.compose": table.verifier.compose if table.verifier else None,
        **{f"steps.{s.name}.verifier.dockerfile": s.verifier.dockerfile for s in table.steps},
        **{f"steps.{s.name}.verifier.compose": s.verifier.compose for s in table.steps},
    }
    for key, file in files.items():
        if file is not None and not (folder / file).is_file():
            yield f"{name}: {key}: {folder / file} is not a file"
        elif file is not None and key.endswith(".compose"):
            from agentbench.tasks.compose_file import compose_faults  # imports a parser

            yield from compose_faults(folder / file)
    yield from _unwritten_files(folder, repo.path)


def _unwritten_files(folder: Path, repo: str | None) -> Iterator[str]:
    if repo is not None and (folder / repo).is_dir() and not any((folder / repo).iterdir()):
        what = "is empty; copy the project into it, at the buggy commit"
        yield f"{folder / TASK_FILE}: repo.path: {folder / repo} {what}"
    for patch in ("tests.patch", "solution.patch"):
        if os.path.lexists(folder / patch) and not (folder / patch).is_file():
            yield f"{folder / patch}: is not a file"
            continue
        # `agentbench tasks init` writes comments only.
        beginning = _read_if_present(folder / patch)[:_COMMENT_BYTES].splitlines()
        lines = [line for line in beginning if line.strip()]
        if lines and all(line.startswith(b"#") for line in lines):
            yield f"{folder / patch}: has only comments; write the patch as `git diff` prints it"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTasks:
    """The tasks that were found, and warnings about their folders."""

    tasks: tuple[Task, ...]
    warnings: tuple[str, ...] = ()


def load_tasks(paths: Sequence[Path], *, mirrors: Mirrors | None = None) -> LoadedTasks:
    """Read the tasks in some paths: task folders, folders of them, or suite files.

    Args:
        paths: The paths.
        mirrors: The mirrors of their repositories; None: those of the user's cache.

    Raises:
        InputError: a task is wrong, two have the same id, or there are no tasks; all faults at
            once.
    """
    mirrors = mirrors if mirrors is not None else Mirrors(default_cache_dir() / "mirrors")
    faults: list[str] = []
    warnings: list[str] = []
    tasks: list[Task] = []
    folders_by_id: dict[TaskId, list[Path]] = {}
    # Several paths may lead to one folder.
    resolved_folders = set[Path]()
    for folder in _folders(paths, faults, warnings):
        if folder.resolve() in resolved_folders:
            continue
        resolved_folders.add(folder.resolve())
        draft = read_draft(folder)
        if draft.task_id is not None:
            folders_by_id.setdefault(draft.task_id, []).append(folder)
        try:
            task = _validated_task(draft, mirrors)
            tasks.append(task)
            warnings.extend(_unknown_tests(task, mirrors))
        except InputError as error:
            faults.extend(error.faults)
    for task_id, folders in folders_by_id.items():
        if len(folders) > 1:
            where = ", ".join(map(str, folders))
            faults.append(f"{task_id}: more than one task has this id: {where}; give each its own")
    if not faults and not tasks:
        text = ", ".join(map(str, paths))
        faults.append(f"{text}: no task here; a task is a folder with a {TASK_FILE}")
    if faults:
        raise InputError(*faults)
    return LoadedTasks(tasks=tuple(tasks), warnings=tuple(warnings))


# Listed tests that no file has: every attempt would fail, by the fault of the task. Only a warning,
# since a program may make tests; one in a class may be inherited.
def _unknown_tests(task: Task, mirrors: Mirrors) -> Iterator[str]:
    key, files = task.answer_key, task.source.files
    if files is None or task.problem.tests.runner is not Runner.PYTEST or key.verifier is not None:
        return
    patched = apply_patch_to_commit(key.tests_patch, mirrors.of(task.source))
    unknown: list[str] = []
    for node_id in key.fail_to_pass:
        path, *names = node_id.split("::")
        name = names[-1].partition("[")[0] if len(names) == 1 else ""
        if not name.startswith("test"):
            continue
        file, plain = patched.get(PurePosixPath(path)), files / path
        content = file.content if file is not None else b""
        if file is None and plain.is_file():
            content = plain.read_bytes()
        if name.encode() not in content and b"import *" not in content:
            unknown.append(node_id)
    if unknown:
        yield (
            f"{task.folder / TASK_FILE}: tests.fail_to_pass: not found in the files, with the "
            f"hidden tests: {list_with_more(unknown, _MAX_NAMED)}; `agentbench validate` shows if "
            "they run"
        )


def load_task(folder: Path, *, mirrors: Mirrors) -> Task:
    """Read one task's folder.

    Raises:
        InputError: a file is missing or wrong; all faults at once.
    """
    return _validated_task(read_draft(folder), mirrors)


def _validated_task(draft: TaskDraft, mirrors: Mirrors) -> Task:
    if draft.faults:
        raise InputError(*draft.faults)
    faults: list[str] = []
    try:
        task = _task(draft)
        # For a URL, the patches are checked after the repository is fetched.
        mirror = mirrors.of(task.source) if task.source.files is not None else None
    except GitCloneError as error:
        raise InputError(f"{draft.folder / TASK_FILE}: repo.path: {error}") from None
    except OSError as error:
        raise InputError(f"{draft.folder}: cannot be read: {error}") from None
    key = task.answer_key
    for name, patch in (("tests.patch", key.tests_patch), ("solution.patch", key.solution_patch)):
        try:
            if mirror is not None:
                apply_patch_to_commit(patch, mirror)
        except PatchDoesNotApplyError as error:
            faults.append(f"{draft.folder / name}: {error}")
        except OSError as error:
            raise InputError(f"{draft.folder}: cannot be read: {error}") from None
    if faults:
        raise InputError(*faults)
    return task


def _task(draft: TaskDraft) -> Task:
    folder, table, task_id = draft.folder, draft.table, draft.task_id
    assert table is not None  # a draft without faults has both
    assert task_id is not None
    tests, environment, repo = table.tests, table.environment, table.repo
    url, setup = repo.url, table.setup
    if url is not None and is_git_bundle(url):
        url = str((folder / url).resolve())
    if environment.pip is not None:
        pip = f"python -m pip install --disable-pip-version-check pip=={environment.pip}"
        if setup.shared:
            setup = setup.replace(shared=(pip, *setup.shared))
        else:
            setup = setup.replace(commands=(pip, *setup.commands))
    steps: list[TaskStep] = []
    for step, instruction in zip(table.steps, draft.step_instructions, strict=True):
        assert table.verifier is not None  # or the file has no steps
        networks = step.agent.network, table.agent.network, environment.network
        steps.append(
            TaskStep(
                name=step.name,
                instruction=instruction,
                verifier=step.with_common(table.verifier),
                timeout_s=step.agent.timeout_s or table.agent.timeout_s,
                user=step.agent.user or environment.user,
                network=_first_network(*networks),
                min_reward=step.min_reward,
                healthcheck=step.healthcheck,
            )
        )
    return Task(
        problem=Problem(
            id=task_id,
            title=table.title,
            tags=table.tags,
            instruction=draft.instruction,
            test_command=tests.command,
            test_runner=tests.runner if tests.runner not in PYTHON_RUNNERS else None,
            test_report=tests.report,
            test_before=tests.before,
            test_paths=tests.paths,
            test_timeout_s=(table.verifier or tests).timeout_s,
            test_env=environment.env,
            limits=table.agent,
            network=_first_network(table.agent.network, environment.network),
            mcp_servers=environment.mcp_servers,
            skills=environment.skills,
        ),
        answer_key=AnswerKey(
            tests_patch=_read_if_present(folder / "tests.patch"),
            solution_patch=_read_if_present(folder / "solution.patch"),
            fail_to_pass=tests.fail_to_pass,
            pass_to_pass=tests.pass_to_pass,
            protected=tests.protected,
            quarantined=tuple(test.id for test in tests.quarantined),
            verifier=table.verifier,
            solution=table.solution,
        ),
        folder=folder,
        source=RepoSource(
            files=(folder / repo.path).resolve() if repo.path is not None else None,
            url=url,
            commit=repo.commit,
            workdir=repo.workdir,
        ),
        environment=TaskEnvironment(
            dockerfile=folder / environment.dockerfile if environment.dockerfile else None,
            compose=folder / environment.compose if environment.compose else None,
            **{name: getattr(environment, name) for name in EnvironmentSettings.model_fields},
        ),
        setup=setup,
        controls=table.integrity.controls,
        digest=tree_digest(folder, without={PROOF_FILE}),
        steps=tuple(steps),
        reward_strategy=table.reward_strategy,
    )


def _first_network(*networks: Network | None) -> Network:
    return next((each for each in networks if each is not None), False)


def _folders(paths: Sequence[Path], faults: list[str], warnings: list[str]) -> Iterator[Path]:
    for path in paths:
        if path.is_file():
            try:
                yield from _folders(read_suite(path), faults, warnings)
            except InputError as error:
                faults.extend(error.faults)
        elif (path / TASK_FILE).is_file():
            yield path
        elif path.is_dir():
            members = []
            for folder in sorted(each for each in path.iterdir() if each.is_dir()):
                if (folder / TASK_FILE).is_file():
                    members.append(folder)
                elif not folder.name.startswith((".", "__")):
                    warnings.append(f"{folder}: contains no {TASK_FILE}, skipped")
            if not members:
                warnings.append(f"{path}: contains no task, skipped")
            yield from members
        else:
            faults.append(f"{path}: no such folder; expected a task, a folder of tasks or a suite")


def _read_if_present(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
