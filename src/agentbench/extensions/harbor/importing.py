"""Imports Harbor's task folders: each becomes a task, or is rejected with reasons."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

from agentbench.errors import InputError
from agentbench.extensions.harbor.conversion import (
    DEFAULT_WORKDIR,
    UPLOAD_FOLDER,
    UnsupportedTaskError,
    convert_task_file,
    is_solved,
    main_of,
    uploads_environment,
)
from agentbench.extensions.harbor.network import network_faults, network_notes
from agentbench.extensions.harbor.services import COMPOSE_FILE, MainService, compose_rejections
from agentbench.extensions.harbor.task_toml import (
    HarborEnvironmentTable,
    HarborTaskFile,
    parse_harbor_task_file,
    split_env,
    unknown_keys,
)
from agentbench.importers import task_folders
from agentbench.importers.dockerfiles import (
    DockerfileEnd,
    FindImage,
    no_image,
    parse_dockerfile,
)
from agentbench.importers.task_folders import ConvertedTask, FolderFormat
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.problem import TaskId
from agentbench.tasks.steps import INSTRUCTION_FILE, STEPS_FOLDER
from agentbench.tasks.task_file import is_task_id
from agentbench.tasks.users import ROOT_USER
from agentbench.tasks.writing import NewTask

IGNORE_FILE = ".harborignore"
"""The file with patterns of files that Harbor ignores, in gitignore's syntax.

Each applies to its own folder and all below it, but only in the folders of scripts.
"""

ORIGINALS_FOLDER = "harbor"
"""The folder in a task that keeps Harbor's own files, such as its task.toml."""

SCRIPT_FOLDERS = ("tests", "solution")
SHARED_FOLDERS = ("environment", *SCRIPT_FOLDERS, STEPS_FOLDER)
"""The folders that both formats share."""

_CANARY = re.compile(r"\s*(<!--.*canary.*-->|#.*canary.*)\s*", re.IGNORECASE)
_DIFFERENCES = "a script with its own environment gets regular files only"


def read_harbor_task(
    folder: Path, find_image: FindImage = no_image
) -> ConvertedTask | list[Rejection]:
    """Read a folder; returns all the reasons if it cannot be imported."""
    faults = list(task_folders.tree_faults(folder))
    text = task_folders.read_text(folder / "task.toml")
    where = str(folder / "task.toml")
    form = parse_harbor_task_file(text, where=where) if isinstance(text, str) else [text]
    faults += form if isinstance(form, list) else _rejections(form, folder)
    steps = form.steps if isinstance(form, HarborTaskFile) else None
    names = [f"steps/{step.name}/{INSTRUCTION_FILE}" for step in steps or ()] or [INSTRUCTION_FILE]
    instructions = {name: task_folders.read_text(folder / name) for name in names}
    faults += [each for each in instructions.values() if isinstance(each, Rejection)]
    if faults or isinstance(form, list):
        return faults
    shown = {name: without_canary(str(each)) for name, each in instructions.items()}
    try:
        return _convert(folder, form, shown, find_image)
    except UnsupportedTaskError as error:
        return [Rejection(where=str(folder / error.file), field=error.field, what=error.what)]
    except InputError as error:
        return [Rejection(where=str(folder), what=fault) for fault in error.faults]


def without_canary(instruction: str) -> str:
    """An instruction as Harbor shows it, without its leading provenance markers."""
    lines = instruction.split("\n")
    while lines and _CANARY.fullmatch(lines[0]):
        lines.pop(0)
    return "\n".join(lines).lstrip("\n")


def _rejections(form: HarborTaskFile, folder: Path) -> list[Rejection]:
    file = str(folder / "task.toml")
    faults = [
        Rejection(where=file, field=field, what=what)
        for field, what in unsupported_features(form, folder)
    ]
    own = [folder / STEPS_FOLDER / step.name for step in form.steps or ()]
    own_tests = [each / "tests/test.sh" for each in own]
    scripts = [each for each in own_tests if each.exists()]
    if len(scripts) < len(own_tests) or not own:
        scripts.append(folder / "tests/test.sh")
    solutions = [each / "solution" for each in (folder, *own)]
    scripts += [each / "solve.sh" for each in solutions if each.is_dir()]
    faults += filter(None, map(task_folders.script_fault, scripts))
    env = split_env(form.environment.env)[0]
    faults += compose_rejections(folder / "environment" / COMPOSE_FILE, env)
    for phase, tests in zip(form.phases, own or [folder], strict=True):
        if phase.verifier.is_separate:
            table = phase.verifier.environment or form.environment
            for place in dict.fromkeys((folder, tests)):
                services = place / "tests" / COMPOSE_FILE
                faults += compose_rejections(services, split_env(table.env)[0])
    return faults


def _convert(
    folder: Path,
    form: HarborTaskFile,
    instructions: Mapping[str, str],
    find_image: FindImage,
) -> ConvertedTask:
    name = form.task.name.rpartition("/")[2] if form.task is not None else folder.resolve().name
    task_id = TaskId(re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._"))
    if not is_task_id(task_id):
        what = f"{name[:80]!r} gives no id of [a-z0-9._-]+"
        raise UnsupportedTaskError(what=what, field="task.name")
    image, assumed = _image(form, main_of(folder), find_image)
    table = convert_task_file(folder, form, task_id, image)
    shared = SHARED_FOLDERS if form.steps else SHARED_FOLDERS[:-1]
    folders = {name: folder / name for name in shared if (folder / name).is_dir()}
    copies = _copies_without_ignored(folder, form, folders)
    files = {name: text.encode() for name, text in instructions.items() if form.steps}
    if uploads_environment(folder, form):
        folders[f"{UPLOAD_FOLDER}/files"] = folder / "environment"
        text = f"FROM {form.environment.docker_image}\nCOPY files/ {image.workdir}/\n"
        files[f"{UPLOAD_FOLDER}/Dockerfile"] = text.encode()
    apart = {*shared, *task_folders.IGNORED_NAMES}
    others = [path for path in sorted(folder.iterdir()) if path.name not in apart]
    originals = {f"{ORIGINALS_FOLDER}/{path.name}": path for path in others}
    # The step itself has the instruction without its canary.
    if form.steps:
        originals |= {f"{ORIGINALS_FOLDER}/{name}": folder / name for name in instructions}
    new = NewTask(
        id=task_id,
        table=table,
        instruction=instructions.get(INSTRUCTION_FILE, ""),
        files=files,
        folders=folders | {name: path for name, path in originals.items() if path.is_dir()},
        copies=copies | {name: path for name, path in originals.items() if not path.is_dir()},
    )
    return ConvertedTask(new=new, notes=tuple(_notes(folder, form, image, assumed=assumed)))


def _copies_without_ignored(
    folder: Path, form: HarborTaskFile, folders: dict[str, Path]
) -> dict[str, Path]:
    """The files of folders with ignored files, as Harbor's own; removes those folders."""
    steps = [folder / STEPS_FOLDER / step.name for step in form.steps or ()]
    places = [each / name for each in (folder, *steps) for name in SCRIPT_FOLDERS]
    found = (
        file for place in places if place.is_dir() for file in _files_and_use(place, (), used=True)
    )
    ignored = {path for path, is_used in found if not is_used}
    copies = {}
    for name, place in list(folders.items()):
        if any(path.is_relative_to(place) for path in ignored):
            del folders[name]
            for path in place.rglob("*"):
                if path.is_symlink() or path.is_file():
                    own = path.relative_to(folder).as_posix()
                    copies[f"{ORIGINALS_FOLDER}/{own}" if path in ignored else own] = path
    return copies


def _notes(
    folder: Path, form: HarborTaskFile, image: DockerfileEnd, *, assumed: bool
) -> Iterator[str]:
    yield _DIFFERENCES
    users = [image.user_of(phase.agent.user) for phase in form.phases]
    if ROOT_USER in users:
        yield "the agent is root of its container"
    if not all(phase.verifier.is_separate for phase in form.phases):
        yield "the script judges in the agent's own container, as in Harbor; this is weaker"
    yield from dict.fromkeys(note for phase in form.phases for note in network_notes(phase))
    if assumed:
        yield f"the image's WORKDIR is unknown: {image.workdir} is assumed ([repo] workdir)"
    if not is_solved(folder, form):
        where = " in each step" if form.steps else ""
        yield f"has no solution/{where}, so the task cannot be proved"
    if unused := list(unused_keys(form)):
        yield f"not used here: {', '.join(unused)}"
    environments: dict[str, Mapping[str, str]] = {
        "environment.env": form.environment.env,
        "verifier.env": form.verifier.env,
        "solution.env": form.solution.env,
    }
    if form.verifier.environment is not None:
        environments["verifier.environment.env"] = form.verifier.environment.env
    for number, step in enumerate(form.steps or ()):
        environments[f"steps.{number}.verifier.env"] = step.verifier.env
        if step.verifier.environment is not None:
            own = step.verifier.environment.env
            environments[f"steps.{number}.verifier.environment.env"] = own
    for where, env in environments.items():
        for key, variable in split_env(env)[1].items():
            yield f"{where}.{key} is this machine's {variable} only with --allow-env {variable}"


def _image(
    form: HarborTaskFile, main: MainService, find_image: FindImage
) -> tuple[DockerfileEnd, bool]:
    """The settings of the container, and whether its working folder is a guess."""
    end = DockerfileEnd()
    text = None if main.dockerfile is None else task_folders.read_text(main.dockerfile)
    named = form.environment.workdir or main.workdir
    if form.environment.docker_image is not None and not main.builds:
        end = DockerfileEnd(image=form.environment.docker_image)
    elif isinstance(text, str):
        try:
            end = parse_dockerfile(text)
        except ValueError as error:
            if named is None:
                message = f"WORKDIR: {error}; give [environment] workdir in task.toml"
                file = "environment/Dockerfile"
                raise UnsupportedTaskError(what=message, file=file) from None
    if named is not None:
        end = replace(end, workdir=PurePosixPath(named))
    end = replace(end, user=main.user or end.user).in_image(find_image)
    assumed = end.workdir in {None, PurePosixPath("/")}
    return (replace(end, workdir=DEFAULT_WORKDIR) if assumed else end), assumed


def harbor_format(find_image: FindImage = no_image) -> FolderFormat:
    """Harbor's format.

    Args:
        find_image: Finds the settings of the image that a Dockerfile starts from.
    """
    return FolderFormat(file="task.toml", read=lambda folder: read_harbor_task(folder, find_image))


HARBOR = harbor_format()
"""Harbor's format, if no image is known."""


def unsupported_features(form: HarborTaskFile, folder: Path) -> Iterator[tuple[str, str]]:
    """Why a task cannot run here: the key or the file, and the reason."""
    yield from network_faults(form)
    yield from _unsupported_in_environment(form.environment, "environment")
    tables = {"verifier.environment": form.verifier.environment}
    for number, step in enumerate(form.steps or ()):
        tables[f"steps.{number}.verifier.environment"] = step.verifier.environment
    for where, table in tables.items():
        if table is not None:
            yield from _unsupported_in_environment(table, where)
    has_image = form.environment.docker_image is not None
    has_file = any(
        (folder / "environment" / name).is_file() for name in ("Dockerfile", COMPOSE_FILE)
    )
    if not has_image and not has_file:
        yield "environment/Dockerfile", "is missing, and [environment] names no docker_image"


def _unsupported_in_environment(
    environment: HarborEnvironmentTable, where: str
) -> Iterator[tuple[str, str]]:
    if environment.os.lower() != "linux":
        yield f"{where}.os", f"is {environment.os!r}; sandboxes here are Linux"
    if environment.gpus:
        yield f"{where}.gpus", f"requires {environment.gpus}; sandboxes here have none"
    if environment.tpu is not None:
        yield f"{where}.tpu", "requires a TPU; sandboxes here have none"


def unused_keys(form: HarborTaskFile) -> Iterator[str]:
    """Keys without a meaning here; the task's folder holds the original file."""
    is_separate = any(phase.verifier.is_separate for phase in form.phases)
    unused_values: dict[str, object] = {
        "environment.build_timeout_sec": form.environment.build_timeout_sec,
        "environment.gpu_types": form.environment.gpu_types,
        "source": form.source,
        "multi_step_reward_strategy": form.multi_step_reward_strategy and not form.steps,
        "artifacts": form.artifacts and not is_separate,
    }
    if form.verifier.environment is not None:
        used = {"docker_image", "env", "os", "network_mode", "allowed_hosts", "allow_internet"}
        used |= {"workdir", "cpus", "memory_mb"}
        unused = HarborEnvironmentTable.model_fields.keys() - used
        given = sorted(form.verifier.environment.model_fields_set & unused)
        unused_values |= {f"verifier.environment.{key}": True for key in given}
    yield from (key for key, value in unused_values.items() if value)
    yield from unknown_keys(form)


def _files_and_use(
    folder: Path, rules: Sequence[tuple[Path, GitIgnoreSpec]], *, used: bool
) -> Iterator[tuple[Path, bool]]:
    """Each file below a folder of scripts, and whether Harbor uses it; links count as files."""
    own = folder / IGNORE_FILE
    if own.is_file():
        lines = own.read_text("utf-8", "replace").splitlines()
        rules = (*rules, (folder, GitIgnoreSpec.from_lines(lines)))
    for path in sorted(folder.iterdir()):
        is_folder = path.is_dir() and not path.is_symlink()
        ignored = False
        for base, spec in rules:
            name = path.relative_to(base).as_posix() + ("/" if path.is_dir() else "")
            found = spec.check_file(name).include
            # A later rule has priority, also one that includes a file again.
            ignored = ignored if found is None else found
        is_used = used and not ignored and path.name != IGNORE_FILE
        if is_folder:
            yield from _files_and_use(path, rules, used=is_used)
        else:
            yield path, is_used
