"""Imports Harbor's task folders: each becomes a task, or is rejected with reasons."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from agentbench.core.choices import AGENT_USER, BASE_IMAGES, ROOT_USER, UserName, VerifierPlace
from agentbench.core.schema import describe_validation_error
from agentbench.errors import InputError
from agentbench.importers import task_folders
from agentbench.importers.harbor.network import (
    agent_network,
    environment_network,
    network_faults,
    network_notes,
    shares_network,
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
    HarborStepTable,
    HarborTaskFile,
    User,
    parse_harbor_task_file,
    substitute_env,
    unknown_keys,
)
from agentbench.importers.task_folders import ConvertedTask, FolderFormat
from agentbench.scoring.steps import RewardStrategy
from agentbench.tasks.compose_file import MAIN
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.problem import TaskId
from agentbench.tasks.steps import INSTRUCTION_FILE, STEPS_FOLDER
from agentbench.tasks.task_file import TaskFile, is_task_id
from agentbench.tasks.writing import NewTask

ORIGINALS_FOLDER = "harbor"
"""The folder in a task that keeps Harbor's own files, such as its task.toml."""

SHARED_FOLDERS = ("environment", "tests", "solution")
"""The folders that both formats share."""

_CANARY = re.compile(r"\s*(<!--.*canary.*-->|#.*canary.*)\s*", re.IGNORECASE)
_DEFAULT_WORKDIR = PurePosixPath("/app")  # of most Harbor tasks
_DIFFERENCES = "a script with its own environment gets regular files only"
_ALWAYS_COLLECTED = "/logs/artifacts"  # by Harbor, from the agent to the verifier, in any case
_ALMOST_ONE = 0.999  # to be exceeded: Harbor counts a reward of 1 as a pass
_MAX_TITLE_LENGTH = 200  # characters
_IMAGE_KEYS = ("image", "dockerfile", "compose")  # of a verifier
_METADATA_TAGS = ("difficulty", "category")  # the keys of metadata that become tags


def read_harbor_task(folder: Path) -> ConvertedTask | list[Rejection]:
    """Read a folder; if it cannot be imported, all the reasons."""
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
        return _convert(folder, form, shown)
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
    env: Mapping[str, str] = substitute_env(form.environment.env, "").env
    faults += compose_rejections(folder / "environment" / COMPOSE_FILE, env)
    names = [f"{STEPS_FOLDER}/{step.name}/" for step in form.steps or ()] or [""]
    for name, phase in zip(names, form.phases, strict=True):
        if phase.verifier.is_separate:
            table = phase.verifier.environment or form.environment
            own_env = substitute_env(table.env, "").env
            for tests in dict.fromkeys(("tests", f"{name}tests")):
                faults += compose_rejections(folder / tests / COMPOSE_FILE, own_env)
    for where, env in _environments(form):
        host_variables = substitute_env(env, where).from_host
        what = "would be taken from the host; sandboxes hold nothing of it"
        faults += [Rejection(where=file, field=key, what=what) for key in host_variables]
    return faults


def _environments(form: HarborTaskFile) -> Iterator[tuple[str, Mapping[str, str]]]:
    yield "environment.env", form.environment.env
    yield "verifier.env", form.verifier.env
    yield "solution.env", form.solution.env
    if form.verifier.environment is not None:
        yield "verifier.environment.env", form.verifier.environment.env
    for number, step in enumerate(form.steps or ()):
        yield f"steps.{number}.verifier.env", step.verifier.env
        if step.verifier.environment is not None:
            yield f"steps.{number}.verifier.environment.env", step.verifier.environment.env


def _convert(folder: Path, form: HarborTaskFile, instructions: Mapping[str, str]) -> ConvertedTask:
    task_id = _id_of(folder, form)
    main = _main_service(folder)
    workdir, assumed = _workdir(form, main)
    table = convert_task_file(folder, form, task_id, workdir)
    shared = (*SHARED_FOLDERS, STEPS_FOLDER) if form.steps else SHARED_FOLDERS
    folders = {name: folder / name for name in shared if (folder / name).is_dir()}
    apart = {*shared, *task_folders.IGNORED_NAMES}
    others = [path for path in sorted(folder.iterdir()) if path.name not in apart]
    originals = {f"{ORIGINALS_FOLDER}/{path.name}": path for path in others}
    if form.steps:  # the step itself has the instruction without its canary
        originals |= {f"{ORIGINALS_FOLDER}/{name}": folder / name for name in instructions}
    new = NewTask(
        id=task_id,
        table=table,
        instruction=instructions.get(INSTRUCTION_FILE, ""),
        files={name: text.encode() for name, text in instructions.items() if form.steps},
        folders=folders | {name: path for name, path in originals.items() if path.is_dir()},
        copies={name: path for name, path in originals.items() if not path.is_dir()},
    )
    return ConvertedTask(new=new, notes=tuple(_notes(folder, form, main, workdir, assumed=assumed)))


def _notes(
    folder: Path, form: HarborTaskFile, main: MainService, workdir: PurePosixPath, *, assumed: bool
) -> Iterator[str]:
    yield from _notes_on_isolation(form, main)
    if assumed:
        yield f"no WORKDIR in environment/Dockerfile: {workdir} is assumed ([repo] workdir)"
    if not _is_solved(folder, form):
        where = " in each step" if form.steps else ""
        yield f"has no solution/{where}, so nothing can prove it"
    if unused := list(unused_keys(form)):
        yield f"not used here: {', '.join(unused)}"
    for where, env in _environments(form):
        for key in substitute_env(env, where).defaulted:
            yield f"{key} is the default that task.toml gives; the host's own is not asked for"
    if (folder / ".harborignore").exists():
        yield ".harborignore is not followed: all files of tests/ and solution/ are handed over"


def _notes_on_isolation(form: HarborTaskFile, main: MainService) -> Iterator[str]:
    yield _DIFFERENCES
    if _user(main, form.agent.user) == ROOT_USER:
        yield "the agent is root of its container"
    if not all(phase.verifier.is_separate for phase in form.phases):
        yield "the script judges in the agent's own container, as in Harbor; this is weaker"
    yield from dict.fromkeys(note for phase in form.phases for note in network_notes(phase))


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


def _workdir(form: HarborTaskFile, main: MainService) -> tuple[PurePosixPath, bool]:
    """The working folder of the agent, and whether it is a guess."""
    named = form.environment.workdir or main.workdir
    if named is not None:
        return PurePosixPath(named), False
    text = None if main.dockerfile is None else task_folders.read_text(main.dockerfile)
    if not isinstance(text, str):
        return _DEFAULT_WORKDIR, True
    try:
        found = task_folders.dockerfile_workdir(text)
    except ValueError as error:
        message = f"WORKDIR: {error}; give [environment] workdir in task.toml"
        raise UnsupportedTaskError(what=message, file="environment/Dockerfile") from None
    return (_DEFAULT_WORKDIR, True) if found is None else (found, False)


HARBOR = FolderFormat(file="task.toml", read=read_harbor_task)
"""Harbor's format."""


def unsupported_features(form: HarborTaskFile, folder: Path) -> Iterator[tuple[str, str]]:
    """Why a task cannot run here: the key or the file, and the reason."""
    yield from dict.fromkeys(fault for phase in form.phases for fault in network_faults(phase))
    yield from _unsupported_in_environment(form.environment, "environment")
    own = {f"steps.{number}.": step.verifier for number, step in enumerate(form.steps or ())}
    for where, verifier in {"": form.verifier, **own}.items():
        if verifier.environment is not None:
            field = f"{where}verifier.environment"
            yield from _unsupported_in_environment(verifier.environment, field)
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
        "multi_step_reward_strategy": form.multi_step_reward_strategy and not form.steps,
        "artifacts": form.artifacts
        and not any(phase.verifier.is_separate for phase in form.phases),
        **_unused_verifier_keys(form.verifier.environment),
    }
    yield from (key for key, value in unused_values.items() if value)
    yield from unknown_keys(form)


def _unused_verifier_keys(environment: HarborEnvironmentTable | None) -> dict[str, object]:
    if environment is None:
        return {}
    used = {
        *("docker_image", "env", "os", "workdir"),
        *("network_mode", "allowed_hosts", "allow_internet"),
    }
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
    folder: Path, form: HarborTaskFile, task_id: TaskId, workdir: PurePosixPath
) -> TaskFile:
    """The task.toml table of a Harbor task.

    Raises:
        UnsupportedTaskError: a value is beyond the limits here.
    """
    main = _main_service(folder)
    description = form.task.description.strip() if form.task is not None else ""
    has_services = (folder / "environment" / COMPOSE_FILE).is_file()
    values: dict[str, object] = {
        "schema_version": 1,
        "id": task_id,
        "title": description.splitlines()[0][:_MAX_TITLE_LENGTH] if description else task_id,
        "tags": tuple(dict.fromkeys(_tags(form))),
        "repo": {"workdir": str(workdir)},
        "environment": {
            **_environment(folder, form.environment, main),
            "user": _user(main, form.agent.user),
            "network": environment_network(form),
            "services_on_localhost": has_services and shares_network(form),
        },
        "verifier": {
            **_verifier(folder, form, workdir),
            "user": _user(main, form.verifier.user),
        },
        "agent": {
            **({} if form.agent.timeout_sec is None else {"timeout_s": form.agent.timeout_sec}),
            "network": agent_network(form),
        },
    }
    if _is_solved(folder, form):
        values["solution"] = {"env": substitute_env(form.solution.env, "").env}
    if form.steps:
        values["verifier"] = {"threshold": _ALMOST_ONE}
        values["steps"] = [_step(folder, form, step, main, workdir) for step in form.steps]
        values["reward_strategy"] = form.multi_step_reward_strategy or RewardStrategy.MEAN
    try:
        return TaskFile.model_validate(values)
    except ValidationError as error:
        field, _, what = describe_validation_error(error.errors()[0], TaskFile).partition(": ")
        raise UnsupportedTaskError(what=what, field=field) from None


def _is_solved(folder: Path, form: HarborTaskFile) -> bool:
    """Whether there is a solution; for each step its own, or one for all."""
    own = [folder / STEPS_FOLDER / step.name / "solution" for step in form.steps or ()]
    return (folder / "solution").is_dir() or (bool(own) and all(each.is_dir() for each in own))


def _step(
    folder: Path,
    form: HarborTaskFile,
    step: HarborStepTable,
    main: MainService,
    workdir: PurePosixPath,
) -> dict[str, object]:
    """A step with all of its values, so that none of `[verifier]` is used."""
    whole = form.in_step(step)
    verifier = {"environment": VerifierPlace.FRESH, **_verifier(folder, whole, workdir)}
    del verifier["threshold"]
    if whole.verifier.is_separate:
        verifier = {key: verifier[key] for key in verifier.keys() - {*_IMAGE_KEYS}}
        verifier |= _step_image(folder, form, step)
    timeout, network = whole.agent.timeout_sec, agent_network(whole)
    table = {
        "name": step.name,
        "agent": {
            "user": _user(main, whole.agent.user),
            **({} if timeout is None else {"timeout_s": timeout}),
            **({} if network is None else {"network": network}),
        },
        "verifier": {
            **{key: value for key, value in verifier.items() if value not in (None, [], {})},
            "user": _user(main, whole.verifier.user),
        },
        "min_reward": step.min_reward,
        "healthcheck": _seconds_keys(step.healthcheck or {}) or None,
    }
    return {key: value for key, value in table.items() if value is not None}


def _step_image(folder: Path, form: HarborTaskFile, step: HarborStepTable) -> Mapping[str, object]:
    """The image of a step's verifier; what the step names comes before what the task names."""
    tests = f"{STEPS_FOLDER}/{step.name}/tests"
    own = _own_image(folder, step.verifier.environment, tests)
    return own or _own_image(folder, form.verifier.environment, "tests")


def _tags(form: HarborTaskFile) -> Iterator[str]:
    keywords = form.task.keywords if form.task is not None else ()
    tags = form.metadata.get("tags")
    listed = tags if isinstance(tags, list) else []
    for tag in ("harbor", *keywords, *listed, *map(form.metadata.get, _METADATA_TAGS)):
        if isinstance(tag, str) and tag:
            yield tag


def _environment(
    folder: Path, form: HarborEnvironmentTable, main: MainService
) -> dict[str, object]:
    is_built = form.docker_image is None and not main.builds and main.dockerfile is not None
    has_services = (folder / "environment" / COMPOSE_FILE).is_file()
    table = {
        "healthcheck": _seconds_keys(form.healthcheck or {}) or main.healthcheck,
        "image": form.docker_image,
        "dockerfile": "environment/Dockerfile" if is_built else None,
        "compose": f"environment/{COMPOSE_FILE}" if has_services else None,
        "env": substitute_env(form.env, "").env,
        "cpus": None if form.cpus is None else float(form.cpus),
        "memory_mib": form.memory_mb,
        "disk_mib": form.storage_mb,
    }
    return {key: value for key, value in table.items() if value is not None}


def _seconds_keys(table: Mapping[str, object]) -> dict[str, object]:
    return {key.replace("_sec", "_s"): value for key, value in table.items()}


def _verifier(folder: Path, form: HarborTaskFile, workdir: PurePosixPath) -> dict[str, object]:
    verifier = form.verifier
    env = dict(substitute_env(verifier.env, "").env)
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
        table |= _own_image(folder, verifier.environment, "tests")
        table["takes"] = tuple(_collected_paths(form, workdir))
        if verifier.environment is not None:
            table["workdir"] = verifier.environment.workdir
            env = {**substitute_env(verifier.environment.env, "").env, **env}
    return {**table, "env": env}


def _user(main: MainService, named: User | None) -> UserName:
    """The user of a phase: the one it names, else that of the container."""
    name = str(named) if named is not None else main.user or _image_user(main)
    name = name.partition(":")[0]
    return ROOT_USER if name == "0" else name


def _image_user(main: MainService) -> str:
    """The user that the Dockerfile ends with; most images have root."""
    text = None if main.dockerfile is None else task_folders.read_text(main.dockerfile)
    lines = text.splitlines() if isinstance(text, str) else []
    named = ROOT_USER
    for words in map(str.split, lines):
        if len(words) > 1 and words[0].upper() == "FROM":
            named = AGENT_USER if words[1].startswith(BASE_IMAGES) else ROOT_USER
        elif len(words) > 1 and words[0].upper() == "USER":
            named = words[1]
    return named


def _own_image(
    folder: Path, environment: HarborEnvironmentTable | None, tests: str
) -> Mapping[str, object]:
    if environment is not None and environment.docker_image is not None:
        return {"image": environment.docker_image}
    main = main_service(folder / tests)
    has_services = (folder / tests / COMPOSE_FILE).is_file()
    own = main.dockerfile is not None and not main.builds
    files = {"dockerfile": ("Dockerfile", own), "compose": (COMPOSE_FILE, has_services)}
    return {key: f"{tests}/{name}" for key, (name, is_there) in files.items() if is_there}


def _collected_paths(form: HarborTaskFile, workdir: PurePosixPath) -> Iterator[str]:
    """The paths of the work that a verifier with its own environment gets."""
    yield _ALWAYS_COLLECTED
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
        if table.get("exclude"):
            raise UnsupportedTaskError(what="takes a part of it", field=field)
        if service != MAIN:
            yield f"{service}:{path}"
            continue
        inside = path.is_relative_to(workdir)
        yield str(path.relative_to(workdir)) if inside else str(path)
