"""Imports Harbor's task folders: each becomes a task, or is rejected with reasons."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from agentbench.core.choices import AGENT_USER, BASE_IMAGES, ROOT_USER, UserName, VerifierPlace
from agentbench.core.schema import describe_validation_error
from agentbench.errors import InputError
from agentbench.importers import task_folders
from agentbench.importers.dockerfiles import (
    DockerfileEnd,
    FindImage,
    no_image,
    parse_dockerfile,
)
from agentbench.importers.harbor.ignored_files import IGNORE_FILE, sorted_files
from agentbench.importers.harbor.network import (
    agent_network,
    environment_network,
    network_faults,
    network_notes,
    verifier_network,
)
from agentbench.importers.harbor.services import (
    COMPOSE_FILE,
    MainService,
    compose_rejections,
    main_service,
)
from agentbench.importers.harbor.task_toml import (
    HarborEnvironmentTable,
    HarborTaskFile,
    User,
    parse_harbor_task_file,
    split_env,
    unknown_keys,
)
from agentbench.importers.task_folders import ConvertedTask, FolderFormat
from agentbench.tasks.compose_file import MAIN
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_file import TaskFile, is_task_id
from agentbench.tasks.writing import NewTask

ORIGINALS_FOLDER = "harbor"
"""The folder in a task that keeps Harbor's own files, such as its task.toml."""

SCRIPT_FOLDERS = ("tests", "solution")
SHARED_FOLDERS = ("environment", *SCRIPT_FOLDERS)
"""The folders that both formats share."""

UPLOAD_FOLDER = "image"
"""The folder in a task with a Dockerfile of ours, for files that Harbor copies into containers."""

_CANARY = re.compile(r"\s*(<!--.*canary.*-->|#.*canary.*)\s*", re.IGNORECASE)
_DEFAULT_WORKDIR = PurePosixPath("/app")  # of most Harbor tasks
_DIFFERENCES = "a script with its own environment gets regular files only"
_ALWAYS_COLLECTED = "/logs/artifacts"  # by Harbor, from the agent to the verifier, in any case
_OUR_USER = "1000:1000"  # of base images
_ALMOST_ONE = 0.999  # to be exceeded: Harbor counts a reward of 1 as a pass
_MAX_TITLE_LENGTH = 200  # characters
_METADATA_TAGS = ("difficulty", "category")  # the keys of metadata that become tags


def read_harbor_task(
    folder: Path, find_image: FindImage = no_image
) -> ConvertedTask | list[Rejection]:
    """Read a folder; if it cannot be imported, all the reasons."""
    faults = list(task_folders.tree_faults(folder))
    text = task_folders.read_text(folder / "task.toml")
    instruction = task_folders.read_text(folder / "instruction.md")
    where = str(folder / "task.toml")
    form = parse_harbor_task_file(text, where=where) if isinstance(text, str) else [text]
    faults += form if isinstance(form, list) else _rejections(form, folder)
    if isinstance(instruction, Rejection):
        faults.append(instruction)
    if isinstance(form, HarborTaskFile) and form.steps:
        # Then the instruction is elsewhere.
        return [fault for fault in faults if fault.field == "steps"]
    if faults or isinstance(form, list) or isinstance(instruction, Rejection):
        return faults
    try:
        return _convert(folder, form, instruction, find_image)
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
    scripts = [folder / "tests/test.sh"]
    if (folder / "solution").is_dir():
        scripts.append(folder / "solution/solve.sh")
    faults += filter(None, map(task_folders.script_fault, scripts))
    env = split_env(form.environment.env)[0]
    faults += compose_rejections(folder / "environment" / COMPOSE_FILE, env)
    if form.verifier.is_separate:
        own = form.verifier.environment
        if own is not None:
            env = split_env(own.env)[0]
        faults += compose_rejections(folder / "tests" / COMPOSE_FILE, env)
    return faults


def _environments(form: HarborTaskFile) -> Iterator[tuple[str, Mapping[str, str]]]:
    yield "environment.env", form.environment.env
    yield "verifier.env", form.verifier.env
    yield "solution.env", form.solution.env
    if form.verifier.environment is not None:
        yield "verifier.environment.env", form.verifier.environment.env


def _convert(
    folder: Path, form: HarborTaskFile, instruction: str, find_image: FindImage
) -> ConvertedTask:
    task_id = _id_of(folder, form)
    main = _main_service(folder)
    image, assumed = _image(form, main, find_image)
    table = convert_task_file(folder, form, task_id, image)
    folders = {name: folder / name for name in SHARED_FOLDERS if (folder / name).is_dir()}
    copies = dict[str, Path]()
    for name in SCRIPT_FOLDERS:
        if name in folders and any(folders[name].rglob(IGNORE_FILE)):
            copies |= _sorted_copies(name, folders.pop(name))
    files = dict[str, bytes]()
    if _uploads_environment(folder, form):
        folders[f"{UPLOAD_FOLDER}/files"] = folder / "environment"
        files[f"{UPLOAD_FOLDER}/Dockerfile"] = (
            f"FROM {form.environment.docker_image}\nCOPY files/ {image.workdir}/\n".encode()
        )
    apart = {*SHARED_FOLDERS, *task_folders.IGNORED_NAMES}
    others = [path for path in sorted(folder.iterdir()) if path.name not in apart]
    originals = {f"{ORIGINALS_FOLDER}/{path.name}": path for path in others}
    new = NewTask(
        id=task_id,
        table=table,
        instruction=without_canary(instruction),
        folders=folders | {name: path for name, path in originals.items() if path.is_dir()},
        copies=copies | {name: path for name, path in originals.items() if not path.is_dir()},
        files=files,
    )
    return ConvertedTask(new=new, notes=tuple(_notes(folder, form, image, assumed=assumed)))


def _sorted_copies(name: str, folder: Path) -> dict[str, Path]:
    """The files of a folder of scripts; those that Harbor ignores go to its own files."""
    return {
        f"{name if used else f'{ORIGINALS_FOLDER}/{name}'}/{path.relative_to(folder).as_posix()}": (
            path
        )
        for path, used in sorted_files(folder)
    }


def _uploads_environment(folder: Path, form: HarborTaskFile) -> bool:
    """Whether Harbor copies environment/ into the containers of a finished image."""
    own = folder / "environment"
    return (
        form.environment.docker_image is not None
        and own.is_dir()
        and any(own.iterdir())
        and not any((own / name).exists() for name in ("Dockerfile", COMPOSE_FILE))
    )


def _notes(
    folder: Path, form: HarborTaskFile, image: DockerfileEnd, *, assumed: bool
) -> Iterator[str]:
    yield from _notes_on_isolation(form, image)
    if assumed:
        yield f"no WORKDIR is known of the image: {image.workdir} is assumed ([repo] workdir)"
    if not (folder / "solution").is_dir():
        yield "has no solution/, so nothing can prove it"
    if unused := list(unused_keys(form)):
        yield f"not used here: {', '.join(unused)}"
    for where, env in _environments(form):
        for key, variable in split_env(env)[1].items():
            yield f"{where}.{key} is this machine's {variable} only with --allow-env {variable}"


def _notes_on_isolation(form: HarborTaskFile, image: DockerfileEnd) -> Iterator[str]:
    yield _DIFFERENCES
    if _user(image, form.agent.user) == ROOT_USER:
        yield "the agent is root of its container"
    if not form.verifier.is_separate:
        yield "the script judges in the agent's own container, as in Harbor; this is weaker"
    yield from network_notes(form)


def _id_of(folder: Path, form: HarborTaskFile) -> TaskId:
    name = form.task.name.rpartition("/")[2] if form.task is not None else folder.resolve().name
    found = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")
    if not is_task_id(found):
        raise UnsupportedTaskError(
            what=f"{name[:80]!r} gives no id of [a-z0-9._-]+", field="task.name"
        )
    return TaskId(found)


def _main_service(folder: Path) -> MainService:
    try:
        return main_service(folder / "environment")
    except ValueError as error:
        field, _, what = str(error).partition(": ")
        file = f"environment/{COMPOSE_FILE}"
        raise UnsupportedTaskError(what=what, field=field, file=file) from None


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
            message = f"WORKDIR: {error}; give [environment] workdir in task.toml"
            raise UnsupportedTaskError(what=message, file="environment/Dockerfile") from None
    if named is not None:
        end = replace(end, workdir=PurePosixPath(named))
    end = replace(end, user=main.user or end.user).in_image(find_image)
    assumed = end.workdir in {None, PurePosixPath("/")}
    return (replace(end, workdir=_DEFAULT_WORKDIR) if assumed else end), assumed


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
    if form.steps:
        yield "steps", f"has {len(form.steps)} steps; agentbench judges a task once, at its end"
    yield from network_faults(form)
    yield from _unsupported_in_environment(form.environment, "environment")
    if form.verifier.environment is not None:
        yield from _unsupported_in_environment(form.verifier.environment, "verifier.environment")
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
        yield f"{where}.gpus", f"asks for {environment.gpus}; sandboxes here have none"
    if environment.tpu is not None:
        yield f"{where}.tpu", "asks for a TPU; sandboxes here have none"
    if environment.mcp_servers:
        yield f"{where}.mcp_servers", "asks for servers beside the agent; none run here"


def unused_keys(form: HarborTaskFile) -> Iterator[str]:
    """Keys without a meaning here; the task's folder holds the original file."""
    unused_values: Mapping[str, object] = {
        "environment.build_timeout_sec": form.environment.build_timeout_sec,
        "environment.gpu_types": form.environment.gpu_types,
        "environment.skills_dir": form.environment.skills_dir,
        "source": form.source,
        "multi_step_reward_strategy": form.multi_step_reward_strategy,
        "artifacts": form.artifacts and not form.verifier.is_separate,
        **_unused_verifier_keys(form.verifier.environment),
    }
    yield from (key for key, value in unused_values.items() if value)
    yield from unknown_keys(form)


def _unused_verifier_keys(environment: HarborEnvironmentTable | None) -> dict[str, object]:
    if environment is None:
        return {}
    used = {"docker_image", "env", "os", "network_mode", "allowed_hosts", "allow_internet"}
    used |= {"workdir", "cpus", "memory_mib", "memory_mb"}
    return {
        f"verifier.environment.{key}": True
        for key in sorted(environment.model_fields_set - used)
        if key in HarborEnvironmentTable.model_fields
    }


class UnsupportedTaskError(Exception):  # a reason for a rejection, not a program error
    """A part of the folder that cannot be converted."""

    def __init__(self, *, what: str, field: str = "", file: str = "task.toml") -> None:
        super().__init__(what)
        self.what, self.field, self.file = what, field, file


def convert_task_file(
    folder: Path, form: HarborTaskFile, task_id: TaskId, image: DockerfileEnd
) -> TaskFile:
    """The task.toml table of a Harbor task.

    Raises:
        UnsupportedTaskError: a value is beyond the limits here.
    """
    description = form.task.description.strip() if form.task is not None else ""
    values: dict[str, object] = {
        "schema_version": 1,
        "id": task_id,
        "title": description.splitlines()[0][:_MAX_TITLE_LENGTH] if description else task_id,
        "tags": tuple(dict.fromkeys(_tags(form))),
        "repo": {"workdir": str(image.workdir)},
        "environment": {
            **_environment(folder, form),
            "user": _user(image, form.agent.user),
            "network": environment_network(form),
            "lasting": True,
        },
        "verifier": {
            **_verifier(folder, form, image.workdir or _DEFAULT_WORKDIR),
            "user": _user(image, form.verifier.user),
        },
        "agent": {
            **({} if form.agent.timeout_sec is None else {"timeout_s": form.agent.timeout_sec}),
            "network": agent_network(form),
        },
    }
    if (folder / "solution").is_dir():
        values["solution"] = _variables(form.solution.env)
    try:
        return TaskFile.model_validate(values)
    except ValidationError as error:
        field, _, what = describe_validation_error(error.errors()[0], TaskFile).partition(": ")
        raise UnsupportedTaskError(what=what, field=field) from None


def _tags(form: HarborTaskFile) -> Iterator[str]:
    keywords = form.task.keywords if form.task is not None else ()
    tags = form.metadata.get("tags")
    listed = tags if isinstance(tags, list) else []
    for tag in ("harbor", *keywords, *listed, *map(form.metadata.get, _METADATA_TAGS)):
        if isinstance(tag, str) and tag:
            yield tag


def _environment(folder: Path, task: HarborTaskFile) -> dict[str, object]:
    form, main = task.environment, _main_service(folder)
    check = form.healthcheck or {}
    own_check = {key.replace("_sec", "_s"): value for key, value in check.items()}
    has_services = (folder / "environment" / COMPOSE_FILE).is_file()
    dockerfile = None
    if _uploads_environment(folder, task):
        dockerfile = f"{UPLOAD_FOLDER}/Dockerfile"
    elif form.docker_image is None and not main.builds and main.dockerfile is not None:
        dockerfile = "environment/Dockerfile"
    table = {
        "healthcheck": own_check or main.healthcheck,
        "image": None if dockerfile else form.docker_image,
        "dockerfile": dockerfile,
        "compose": f"environment/{COMPOSE_FILE}" if has_services else None,
        **_variables(form.env),
        "cpus": None if form.cpus is None else float(form.cpus),
        "memory_mib": form.memory_mb,
        "disk_mib": form.storage_mb,
    }
    return {key: value for key, value in table.items() if value is not None}


def _verifier(folder: Path, form: HarborTaskFile, workdir: PurePosixPath) -> dict[str, object]:
    verifier = form.verifier
    env = dict(verifier.env)
    table: dict[str, object] = {
        "timeout_s": verifier.timeout_sec,
        "threshold": _ALMOST_ONE,
        "collect": [
            {
                key.replace("_sec", "_s"): str(value) if key == "user" else value
                for key, value in hook.items()
                if (key, value) != ("service", "main")
            }
            for hook in verifier.collect
        ],
        "network": verifier_network(form),
    }
    if not verifier.is_separate:
        table["environment"] = VerifierPlace.SHARED
    else:
        table |= _own_image(folder, verifier.environment)
        table |= _taken(form, workdir)
        if verifier.environment is not None:
            own = verifier.environment
            limits = {"workdir": own.workdir, "cpus": own.cpus, "memory_mib": own.memory_mb}
            table |= {key: value for key, value in limits.items() if value is not None}
            env = {**verifier.environment.env, **env}
    return {**table, **_variables(env)}


def _variables(env: Mapping[str, str]) -> dict[str, object]:
    values, from_host = split_env(env)
    return {"env": values, "env_from_host": from_host}


def _user(image: DockerfileEnd, named: User | None) -> UserName:
    """The user of a phase: the one it names, else that of the container; most have root."""
    own = image.user or ROOT_USER
    if image.image.startswith(BASE_IMAGES) and image.user in {None, "", _OUR_USER}:
        own = AGENT_USER
    name = (str(named) if named is not None else own).partition(":")[0]
    return ROOT_USER if name == "0" else name


def _own_image(folder: Path, environment: HarborEnvironmentTable | None) -> Mapping[str, object]:
    if environment is not None and environment.docker_image is not None:
        return {"image": environment.docker_image}
    main = main_service(folder / "tests")
    has_services = (folder / "tests" / COMPOSE_FILE).is_file()
    own = main.dockerfile is not None and not main.builds
    files = {"dockerfile": ("Dockerfile", own), "compose": (COMPOSE_FILE, has_services)}
    return {key: f"tests/{name}" for key, (name, is_there) in files.items() if is_there}


def _taken(form: HarborTaskFile, workdir: PurePosixPath) -> dict[str, object]:
    """The paths of the work that a verifier with its own environment gets, and what is left out."""
    takes, leaves = [_ALWAYS_COLLECTED], dict[str, list[str]]()
    for number, artifact in enumerate(form.artifacts):
        table = {"source": artifact} if isinstance(artifact, str) else artifact
        service = str(table.get("service") or MAIN)
        source = str(table.get("source", ""))
        path = workdir / source
        field = f"artifacts.{number}"
        if service != MAIN and not source.startswith("/"):
            raise UnsupportedTaskError(what=f"{source[:80]!r} is not absolute", field=field)
        if ".." in path.parts or path == PurePosixPath("/"):
            raise UnsupportedTaskError(what=f"{str(path)[:80]!r} is no path of files", field=field)
        inside = path.is_relative_to(workdir) and service == MAIN
        name = str(path.relative_to(workdir) if inside else path)
        if service != MAIN:
            name = f"{service}:{path}"
        takes.append(name)
        exclude = table.get("exclude")
        if isinstance(exclude, list) and exclude:
            leaves[name] = [str(each) for each in exclude]
    return {"takes": tuple(dict.fromkeys(takes)), "leaves": leaves}
