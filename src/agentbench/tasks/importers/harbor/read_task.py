"""One of Harbor's task folders as a task of ours, or the reasons why it is none."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentbench.errors import InputError
from agentbench.tasks.importers.folder_files import LEFT_OUT, read_text, script_fault, tree_faults
from agentbench.tasks.importers.harbor.form import HarborForm, parse_form
from agentbench.tasks.importers.harbor.made_table import Unsuitable, table_of
from agentbench.tasks.importers.harbor.substitution import substituted
from agentbench.tasks.importers.harbor.unfit import not_used, reasons_against
from agentbench.tasks.importers.harbor.workdir import workdir_of
from agentbench.tasks.importers.refusal import Refusal
from agentbench.tasks.new_task import NewTask
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_file import is_task_id

KEPT = "harbor"
"""The folder in a task that keeps what Harbor's had and ours has not: its task.toml for one."""

FOLDERS = ("environment", "tests", "solution")
"""What is the same in both forms."""

_CANARY = re.compile(r"\s*(<!--.*canary.*-->|#.*canary.*)\s*", re.IGNORECASE)
_PLACE = PurePosixPath("/app")  # where most of Harbor's tasks are
_NOT_HERE = (
    "the agent and the script run as an unprivileged user without a network (the script has one "
    "where the task says so); of what the agent leaves, regular files below {workdir} are judged"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HarborTask:
    """What a folder of Harbor's becomes."""

    new: NewTask
    notes: tuple[str, ...]
    """What is otherwise here than there."""


def read_task(folder: Path) -> HarborTask | list[Refusal]:
    """Read a folder; all the reasons where it cannot be taken."""
    faults = list(tree_faults(folder))
    text = read_text(folder / "task.toml")
    instruction = read_text(folder / "instruction.md")
    form = parse_form(text, where=str(folder / "task.toml")) if isinstance(text, str) else [text]
    faults += form if isinstance(form, list) else _unfit(form, folder)
    if isinstance(instruction, Refusal):
        faults.append(instruction)
    if faults or isinstance(form, list) or isinstance(instruction, Refusal):
        return _without_needless(faults, form)
    try:
        return _made(folder, form, instruction)
    except Unsuitable as error:
        return [Refusal(where=str(folder / error.file), field=error.field, what=error.what)]
    except InputError as error:
        return [Refusal(where=str(folder), what=fault) for fault in error.faults]


def without_canary(instruction: str) -> str:
    """An instruction as Harbor shows it, without the marks of provenance at its beginning."""
    lines = instruction.split("\n")
    while lines and _CANARY.fullmatch(lines[0]):
        lines.pop(0)
    return "\n".join(lines).lstrip("\n")


def _without_needless(faults: list[Refusal], form: HarborForm | list[Refusal]) -> list[Refusal]:
    """A task of several steps has its instructions elsewhere; that it has none is no news."""
    if isinstance(form, HarborForm) and form.steps:
        return [fault for fault in faults if fault.field == "steps"]
    return faults


def _unfit(form: HarborForm, folder: Path) -> list[Refusal]:
    faults = [
        Refusal(where=str(folder / "task.toml"), field=field, what=what)
        for field, what in reasons_against(form, folder)
    ]
    scripts = [folder / "tests/test.sh"]
    if (folder / "solution").is_dir():
        scripts.append(folder / "solution/solve.sh")
    faults += filter(None, map(script_fault, scripts))
    for where, env in _environments(form):
        asked = substituted(env, where).asked
        what = "would be taken from the host; sandboxes hold nothing of it"
        faults += [Refusal(where=str(folder / "task.toml"), field=key, what=what) for key in asked]
    return faults


def _environments(form: HarborForm) -> Iterator[tuple[str, Mapping[str, str]]]:
    yield "environment.env", form.environment.env
    yield "verifier.env", form.verifier.env
    yield "solution.env", form.solution.env
    if form.verifier.environment is not None:
        yield "verifier.environment.env", form.verifier.environment.env


def _made(folder: Path, form: HarborForm, instruction: str) -> HarborTask:
    task_id = _id_of(folder, form)
    workdir, assumed = _workdir(folder, form)
    table = table_of(folder, form, task_id, workdir)
    folders = {name: folder / name for name in FOLDERS if (folder / name).is_dir()}
    others = [path for path in sorted(folder.iterdir()) if path.name not in {*FOLDERS, *LEFT_OUT}]
    kept = {f"{KEPT}/{path.name}": path for path in others}
    new = NewTask(
        id=task_id,
        table=table,
        instruction=without_canary(instruction),
        folders=folders | {name: path for name, path in kept.items() if path.is_dir()},
        copies={name: path for name, path in kept.items() if not path.is_dir()},
    )
    return HarborTask(new=new, notes=tuple(_notes(folder, form, workdir, assumed=assumed)))


def _notes(
    folder: Path, form: HarborForm, workdir: PurePosixPath, *, assumed: bool
) -> Iterator[str]:
    yield _NOT_HERE.format(workdir=workdir)
    if assumed:
        yield f"no WORKDIR in environment/Dockerfile: {workdir} is assumed ([repo] workdir)"
    if not (folder / "solution").is_dir():
        yield "has no solution/, so nothing can prove it"
    if unused := list(not_used(form)):
        yield f"not used here: {', '.join(unused)}"
    for where, env in _environments(form):
        for key in substituted(env, where).defaulted:
            yield f"{key} is the default that task.toml gives; the host's own is not asked for"
    yield from _hosts(form)
    if (folder / ".harborignore").exists():
        yield ".harborignore is not followed: all files of tests/ and solution/ are handed over"


def _hosts(form: HarborForm) -> Iterator[str]:
    phases = {"agent": form.agent, "environment": form.environment, "verifier": form.verifier}
    for name, phase in phases.items():
        if phase.network_mode == "allowlist":
            yield f"{name}.allowed_hosts: none is reached; a network is whole here or not there"


def _id_of(folder: Path, form: HarborForm) -> TaskId:
    name = form.task.name.rpartition("/")[2] if form.task is not None else folder.resolve().name
    found = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")
    if not is_task_id(found):
        raise Unsuitable(what=f"{name[:80]!r} gives no id of [a-z0-9._-]+", field="task.name")
    return TaskId(found)


def _workdir(folder: Path, form: HarborForm) -> tuple[PurePosixPath, bool]:
    """The folder of the image that the work is in, and whether that is a guess."""
    if form.environment.workdir is not None:
        return PurePosixPath(form.environment.workdir), False
    text = read_text(folder / "environment/Dockerfile")
    if isinstance(text, Refusal):
        return _PLACE, True
    try:
        found = workdir_of(text)
    except ValueError as error:
        said = f"WORKDIR: {error}; give [environment] workdir in task.toml"
        raise Unsuitable(what=said, file="environment/Dockerfile") from None
    return (_PLACE, True) if found is None else (found, False)
