"""Imports Harbor's task folders: each becomes a task, or is rejected with reasons."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from agentbench.errors import InputError
from agentbench.importers import task_folders
from agentbench.importers.harbor import conversion, task_toml
from agentbench.importers.task_folders import ConvertedTask, FolderFormat
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_file import is_task_id
from agentbench.tasks.writing import NewTask

ORIGINALS_FOLDER = "harbor"
"""The folder in a task that keeps Harbor's own files, such as its task.toml."""

SHARED_FOLDERS = ("environment", "tests", "solution")
"""The folders that both formats share."""

_CANARY = re.compile(r"\s*(<!--.*canary.*-->|#.*canary.*)\s*", re.IGNORECASE)
_DEFAULT_WORKDIR = PurePosixPath("/app")  # of most Harbor tasks
_DIFFERENCES = (
    "the agent and the script run as an unprivileged user without a network (the script has one "
    "where the task says so); of what the agent leaves, regular files below {workdir} are judged"
)


def read_harbor_task(folder: Path) -> ConvertedTask | list[Rejection]:
    """Read a folder; if it cannot be imported, all the reasons."""
    faults = list(task_folders.tree_faults(folder))
    text = task_folders.read_text(folder / "task.toml")
    instruction = task_folders.read_text(folder / "instruction.md")
    where = str(folder / "task.toml")
    form = task_toml.parse_harbor_task_file(text, where=where) if isinstance(text, str) else [text]
    faults += form if isinstance(form, list) else _rejections(form, folder)
    if isinstance(instruction, Rejection):
        faults.append(instruction)
    if (
        isinstance(form, task_toml.HarborTaskFile) and form.steps
    ):  # then the instruction is elsewhere
        return [fault for fault in faults if fault.field == "steps"]
    if faults or isinstance(form, list) or isinstance(instruction, Rejection):
        return faults
    try:
        return _convert(folder, form, instruction)
    except conversion.UnsupportedTaskError as error:
        return [Rejection(where=str(folder / error.file), field=error.field, what=error.what)]
    except InputError as error:
        return [Rejection(where=str(folder), what=fault) for fault in error.faults]


def without_canary(instruction: str) -> str:
    """An instruction as Harbor shows it, without its leading provenance markers."""
    lines = instruction.split("\n")
    while lines and _CANARY.fullmatch(lines[0]):
        lines.pop(0)
    return "\n".join(lines).lstrip("\n")


def _rejections(form: task_toml.HarborTaskFile, folder: Path) -> list[Rejection]:
    faults = [
        Rejection(where=str(folder / "task.toml"), field=field, what=what)
        for field, what in conversion.unsupported_features(form, folder)
    ]
    scripts = [folder / "tests/test.sh"]
    if (folder / "solution").is_dir():
        scripts.append(folder / "solution/solve.sh")
    faults += filter(None, map(task_folders.script_fault, scripts))
    for where, env in _environments(form):
        asked = task_toml.substitute_env(env, where).from_host
        what = "would be taken from the host; sandboxes hold nothing of it"
        faults += [
            Rejection(where=str(folder / "task.toml"), field=key, what=what) for key in asked
        ]
    return faults


def _environments(form: task_toml.HarborTaskFile) -> Iterator[tuple[str, Mapping[str, str]]]:
    yield "environment.env", form.environment.env
    yield "verifier.env", form.verifier.env
    yield "solution.env", form.solution.env
    if form.verifier.environment is not None:
        yield "verifier.environment.env", form.verifier.environment.env


def _convert(folder: Path, form: task_toml.HarborTaskFile, instruction: str) -> ConvertedTask:
    task_id = _id_of(folder, form)
    workdir, assumed = _workdir(folder, form)
    table = conversion.convert_task_file(folder, form, task_id, workdir)
    folders = {name: folder / name for name in SHARED_FOLDERS if (folder / name).is_dir()}
    others = [
        path
        for path in sorted(folder.iterdir())
        if path.name not in {*SHARED_FOLDERS, *task_folders.IGNORED_NAMES}
    ]
    kept = {f"{ORIGINALS_FOLDER}/{path.name}": path for path in others}
    new = NewTask(
        id=task_id,
        table=table,
        instruction=without_canary(instruction),
        folders=folders | {name: path for name, path in kept.items() if path.is_dir()},
        copies={name: path for name, path in kept.items() if not path.is_dir()},
    )
    return ConvertedTask(new=new, notes=tuple(_notes(folder, form, workdir, assumed=assumed)))


def _notes(
    folder: Path, form: task_toml.HarborTaskFile, workdir: PurePosixPath, *, assumed: bool
) -> Iterator[str]:
    yield _DIFFERENCES.format(workdir=workdir)
    if assumed:
        yield f"no WORKDIR in environment/Dockerfile: {workdir} is assumed ([repo] workdir)"
    if not (folder / "solution").is_dir():
        yield "has no solution/, so nothing can prove it"
    if unused := list(conversion.unused_keys(form)):
        yield f"not used here: {', '.join(unused)}"
    for where, env in _environments(form):
        for key in task_toml.substitute_env(env, where).defaulted:
            yield f"{key} is the default that task.toml gives; the host's own is not asked for"
    phases = {"agent": form.agent, "environment": form.environment, "verifier": form.verifier}
    for name, phase in phases.items():
        if phase.network_mode == "allowlist":
            yield f"{name}.allowed_hosts: none is reached; a network is whole here or not there"
    if (folder / ".harborignore").exists():
        yield ".harborignore is not followed: all files of tests/ and solution/ are handed over"


def _id_of(folder: Path, form: task_toml.HarborTaskFile) -> TaskId:
    name = form.task.name.rpartition("/")[2] if form.task is not None else folder.resolve().name
    found = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")
    if not is_task_id(found):
        raise conversion.UnsupportedTaskError(
            what=f"{name[:80]!r} gives no id of [a-z0-9._-]+", field="task.name"
        )
    return TaskId(found)


def _workdir(folder: Path, form: task_toml.HarborTaskFile) -> tuple[PurePosixPath, bool]:
    """The working folder of the image, and whether it is a guess."""
    if form.environment.workdir is not None:
        return PurePosixPath(form.environment.workdir), False
    text = task_folders.read_text(folder / "environment/Dockerfile")
    if isinstance(text, Rejection):
        return _DEFAULT_WORKDIR, True
    try:
        found = task_folders.dockerfile_workdir(text)
    except ValueError as error:
        message = f"WORKDIR: {error}; give [environment] workdir in task.toml"
        raise conversion.UnsupportedTaskError(what=message, file="environment/Dockerfile") from None
    return (_DEFAULT_WORKDIR, True) if found is None else (found, False)


HARBOR = FolderFormat(file="task.toml", read=read_harbor_task)
"""Harbor's format."""
