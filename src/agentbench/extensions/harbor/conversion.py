"""Converts Harbor's task.toml to a task's table."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from agentbench.core.schema import describe_validation_error
from agentbench.extensions.harbor.network import (
    agent_network,
    environment_network,
    shares_network,
    verifier_network,
)
from agentbench.extensions.harbor.services import COMPOSE_FILE, MainService, main_service
from agentbench.extensions.harbor.task_toml import (
    HarborEnvironmentTable,
    HarborStepTable,
    HarborTaskFile,
    split_env,
)
from agentbench.importers.dockerfiles import DockerfileEnd
from agentbench.scoring.steps import RewardStrategy
from agentbench.tasks.compose_file import MAIN
from agentbench.tasks.problem import TaskId
from agentbench.tasks.scripts import VerifierEnvironment
from agentbench.tasks.steps import STEPS_FOLDER
from agentbench.tasks.task_file import TaskFile

UPLOAD_FOLDER = "image"
"""The folder in a task with a Dockerfile of ours, for files that Harbor copies into containers."""

DEFAULT_WORKDIR = PurePosixPath("/app")
"""The working folder of most Harbor tasks."""

# That Harbor always copies from the agent to the verifier.
_ALWAYS_COLLECTED = "/logs/artifacts"
# To be exceeded: Harbor counts a reward of 1 as a pass.
_ALMOST_ONE = 0.999
_MAX_TITLE_LENGTH = 200  # characters
_METADATA_TAGS = ("difficulty", "category")  # the keys of metadata that become tags


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
    keywords = form.task.keywords if form.task is not None else ()
    listed = form.metadata.get("tags")
    own_tags = listed if isinstance(listed, list) else []
    tags = ("harbor", *keywords, *own_tags, *map(form.metadata.get, _METADATA_TAGS))
    timeout = form.agent.timeout_sec
    has_services = (folder / "environment" / COMPOSE_FILE).is_file()
    values: dict[str, object] = {
        "schema_version": 1,
        "id": task_id,
        "title": description.splitlines()[0][:_MAX_TITLE_LENGTH] if description else task_id,
        "tags": tuple(dict.fromkeys(tag for tag in tags if isinstance(tag, str) and tag)),
        "repo": {"workdir": str(image.workdir)},
        "environment": {
            **_environment(folder, form),
            "user": image.user_of(form.agent.user),
            "network": environment_network(form),
            "services_on_localhost": has_services and any(map(shares_network, form.phases)),
            "lasting": True,
        },
        "verifier": _verifier(folder, form, image),
        "agent": {
            **({} if timeout is None else {"timeout_s": timeout}),
            "network": agent_network(form),
        },
    }
    if is_solved(folder, form):
        values["solution"] = _variables(form.solution.env)
    if form.steps:
        values["verifier"] = {"threshold": _ALMOST_ONE}
        values["steps"] = [_step(folder, form, step, image) for step in form.steps]
        values["reward_strategy"] = form.multi_step_reward_strategy or RewardStrategy.MEAN
    try:
        return TaskFile.model_validate(values)
    except ValidationError as error:
        field, _, what = describe_validation_error(error.errors()[0], TaskFile).partition(": ")
        raise UnsupportedTaskError(what=what, field=field) from None


def is_solved(folder: Path, form: HarborTaskFile) -> bool:
    """Whether there is a solution; for each step its own, or one for all."""
    own = [folder / STEPS_FOLDER / step.name / "solution" for step in form.steps or ()]
    return (folder / "solution").is_dir() or (bool(own) and all(each.is_dir() for each in own))


def uploads_environment(folder: Path, form: HarborTaskFile) -> bool:
    """Whether Harbor copies environment/ into the containers of a finished image."""
    own = folder / "environment"
    return (
        form.environment.docker_image is not None
        and own.is_dir()
        and any(own.iterdir())
        and not any((own / name).exists() for name in ("Dockerfile", COMPOSE_FILE))
    )


def main_of(folder: Path) -> MainService:
    """The settings of the agent's container in a task's compose file.

    Raises:
        UnsupportedTaskError: one of them depends on a variable.
        InputError: the file cannot be read.
    """
    try:
        return main_service(folder / "environment")
    except ValueError as error:
        field, _, what = str(error).partition(": ")
        file = f"environment/{COMPOSE_FILE}"
        raise UnsupportedTaskError(what=what, field=field, file=file) from None


def _step(
    folder: Path, form: HarborTaskFile, step: HarborStepTable, image: DockerfileEnd
) -> dict[str, object]:
    """A step with all of its values, so that no value of `[verifier]` applies."""
    whole = form.in_step(step)
    verifier = {"environment": VerifierEnvironment.FRESH, **_verifier(folder, whole, image)}
    del verifier["threshold"]
    if whole.verifier.is_separate:
        images = {"image", "dockerfile", "compose"}
        verifier = {key: verifier[key] for key in verifier.keys() - images}
        # The step's own settings have priority over the task's.
        own, tests = step.verifier.environment, f"{STEPS_FOLDER}/{step.name}/tests"
        if own is not None and own.docker_image is not None:
            verifier["image"] = own.docker_image
        else:
            verifier |= _image_in(folder, tests) or _own_image(folder, form.verifier.environment)
    timeout = whole.agent.timeout_sec
    table = {
        "name": step.name,
        "agent": {
            "user": image.user_of(whole.agent.user),
            "network": agent_network(whole),
            **({} if timeout is None else {"timeout_s": timeout}),
        },
        "verifier": {key: value for key, value in verifier.items() if value not in (None, [], {})},
        "min_reward": step.min_reward,
        "healthcheck": _seconds_keys(step.healthcheck or {}) or None,
    }
    return {key: value for key, value in table.items() if value is not None}


def _environment(folder: Path, task: HarborTaskFile) -> dict[str, object]:
    form, main = task.environment, main_of(folder)
    has_services = (folder / "environment" / COMPOSE_FILE).is_file()
    servers: list[dict[str, object]] = []
    for server in form.mcp_servers:
        given = {key: value for key, value in server.items() if value is not None}
        # Harbor's short name of a transport
        if given.get("transport") == "http":
            given["transport"] = "streamable-http"
        headers = given.get("headers")
        if isinstance(headers, dict):
            plain = {str(name): str(value) for name, value in headers.items()}
            given["headers"], given["headers_from_host"] = split_env(plain)
        servers.append(given)
    dockerfile = None
    if uploads_environment(folder, task):
        dockerfile = f"{UPLOAD_FOLDER}/Dockerfile"
    elif form.docker_image is None and not main.builds and main.dockerfile is not None:
        dockerfile = "environment/Dockerfile"
    table = {
        "healthcheck": _seconds_keys(form.healthcheck or {}) or main.healthcheck,
        "image": None if dockerfile else form.docker_image,
        "dockerfile": dockerfile,
        "compose": f"environment/{COMPOSE_FILE}" if has_services else None,
        **_variables(form.env),
        "mcp_servers": tuple(servers) or None,
        "skills": form.skills_dir,
        "cpus": None if form.cpus is None else float(form.cpus),
        "memory_mib": form.memory_mb,
        "disk_mib": form.storage_mb,
    }
    return {key: value for key, value in table.items() if value is not None}


def _seconds_keys(table: Mapping[str, object]) -> dict[str, object]:
    return {key.replace("_sec", "_s"): value for key, value in table.items()}


def _verifier(folder: Path, form: HarborTaskFile, image: DockerfileEnd) -> dict[str, object]:
    verifier = form.verifier
    env = dict(verifier.env)
    collect: list[dict[str, object]] = []
    for hook in verifier.collect:
        given = {key: value for key, value in hook.items() if (key, value) != ("service", MAIN)}
        if "user" in given:
            given["user"] = str(given["user"])
        collect.append(_seconds_keys(given))
    table: dict[str, object] = {
        "timeout_s": verifier.timeout_sec,
        "threshold": _ALMOST_ONE,
        "collect": collect,
        "network": verifier_network(form),
        "user": image.user_of(verifier.user),
    }
    if not verifier.is_separate:
        table["environment"] = VerifierEnvironment.SHARED
    else:
        table |= _own_image(folder, verifier.environment)
        table |= _taken(form, image.workdir or DEFAULT_WORKDIR)
        if verifier.environment is not None:
            own = verifier.environment
            limits = {"workdir": own.workdir, "cpus": own.cpus, "memory_mib": own.memory_mb}
            table |= {key: value for key, value in limits.items() if value is not None}
            env = {**own.env, **env}
    return {**table, **_variables(env)}


def _variables(env: Mapping[str, str]) -> dict[str, object]:
    values, from_host = split_env(env)
    return {"env": values, "env_from_host": from_host}


def _own_image(folder: Path, environment: HarborEnvironmentTable | None) -> Mapping[str, object]:
    if environment is not None and environment.docker_image is not None:
        return {"image": environment.docker_image}
    return _image_in(folder, "tests")


def _image_in(folder: Path, tests: str) -> dict[str, object]:
    """The files in a folder of tests for its image and its services."""
    main = main_service(folder / tests)
    has_services = (folder / tests / COMPOSE_FILE).is_file()
    own = main.dockerfile is not None and not main.builds
    files = {"dockerfile": ("Dockerfile", own), "compose": (COMPOSE_FILE, has_services)}
    return {key: f"{tests}/{name}" for key, (name, is_there) in files.items() if is_there}


def _taken(form: HarborTaskFile, workdir: PurePosixPath) -> dict[str, object]:
    """The paths that a verifier with its own environment gets, and the excluded ones."""
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
            raise UnsupportedTaskError(
                what=f"{str(path)[:80]!r} is not a path of files", field=field
            )
        name = str(path.relative_to(workdir) if path.is_relative_to(workdir) else path)
        if service != MAIN:
            name = f"{service}:{path}"
        takes.append(name)
        exclude = table.get("exclude")
        if isinstance(exclude, list) and exclude:
            leaves[name] = [str(each) for each in exclude]
    return {"takes": tuple(dict.fromkeys(takes)), "leaves": leaves}
