"""Our `task.toml` for a task of Harbor's."""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from agentbench.tasks.importers.harbor.form import EnvironmentForm, HarborForm
from agentbench.tasks.importers.harbor.substitution import substituted
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_fault import describe_fault
from agentbench.tasks.task_file import TaskFile

_CARRIED = "/logs/artifacts"  # by Harbor, from agent to verifier, asked or not
_TITLE = 200  # characters
_SAYING = ("difficulty", "category")  # of metadata, what becomes a tag


class Unsuitable(Exception):  # noqa: N818 - no error of the program: a reason to refuse
    """Something of the folder that ours cannot be made of."""

    def __init__(self, *, what: str, field: str = "", file: str = "task.toml") -> None:
        super().__init__(what)
        self.what, self.field, self.file = what, field, file


def table_of(folder: Path, form: HarborForm, task_id: TaskId, workdir: PurePosixPath) -> TaskFile:
    """The table that stands for the form.

    Raises:
        Unsuitable: a value of it is beyond what can be here.
    """
    values: dict[str, object] = {
        "schema_version": 1,
        "id": task_id,
        "title": _title(form, task_id),
        "tags": tuple(dict.fromkeys(_tags(form))),
        "repo": {"workdir": str(workdir)},
        "environment": _environment(form.environment),
        "verifier": _verifier(folder, form, workdir),
        "agent": {} if form.agent.timeout_sec is None else {"timeout_s": form.agent.timeout_sec},
    }
    if (folder / "solution").is_dir():
        values["solution"] = {"env": substituted(form.solution.env, "").env}
    try:
        return TaskFile.model_validate(values)
    except ValidationError as error:
        field, _, what = describe_fault(error.errors()[0], TaskFile).partition(": ")
        raise Unsuitable(what=what, field=field) from None


def _title(form: HarborForm, task_id: TaskId) -> str:
    described = form.task.description.strip() if form.task is not None else ""
    return described.splitlines()[0][:_TITLE] if described else task_id


def _tags(form: HarborForm) -> Iterator[str]:
    yield "harbor"
    if form.task is not None:
        yield from filter(None, form.task.keywords)
    tags = form.metadata.get("tags")
    yield from (tag for tag in (tags if isinstance(tags, list) else []) if _is_word(tag))
    for key in _SAYING:
        said = form.metadata.get(key)
        if isinstance(said, str) and said:
            yield said


def _is_word(tag: object) -> bool:
    return isinstance(tag, str) and bool(tag)


def _environment(form: EnvironmentForm) -> dict[str, object]:
    given = {
        "image": form.docker_image,
        "dockerfile": "environment/Dockerfile" if form.docker_image is None else None,
        "env": substituted(form.env, "").env,
        "cpus": None if form.cpus is None else float(form.cpus),
        "memory_mib": form.memory_mb,
        "disk_mib": form.storage_mb,
    }
    return {key: value for key, value in given.items() if value is not None}


def _verifier(folder: Path, form: HarborForm, workdir: PurePosixPath) -> dict[str, object]:
    verifier = form.verifier
    env = dict(substituted(verifier.env, "").env)
    phases = [verifier, verifier.environment if verifier.is_separate else form.environment]
    given: dict[str, object] = {
        "timeout_s": verifier.timeout_sec,
        "network": any(phase is not None and _is_public(phase) for phase in phases),
    }
    if verifier.is_separate:
        given |= _own_image(folder, verifier.environment)
        given["takes"] = tuple(_taken(form, workdir))
        if verifier.environment is not None:
            env = {**substituted(verifier.environment.env, "").env, **env}
    return {**given, "env": env}


def _is_public(phase: object) -> bool:
    """Whether a table says so; that Harbor has a network where none says a word is not enough."""
    return (
        getattr(phase, "network_mode", None) == "public"
        or getattr(phase, "allow_internet", None) is True
    )


def _own_image(folder: Path, environment: EnvironmentForm | None) -> Mapping[str, object]:
    if environment is not None and environment.docker_image is not None:
        return {"image": environment.docker_image}
    own = (folder / "tests/Dockerfile").is_file()
    return {"dockerfile": "tests/Dockerfile"} if own else {}


def _taken(form: HarborForm, workdir: PurePosixPath) -> Iterator[str]:
    """What of the work a verifier in an environment of its own is brought.

    Raises:
        Unsuitable: that is nothing, or lies elsewhere than the work.
    """
    if not form.artifacts:
        said = f"names none, so its verifier is brought {_CARRIED} alone; nothing of that is kept"
        raise Unsuitable(what=said, field="artifacts")
    for number, artifact in enumerate(form.artifacts):
        table = {"source": artifact} if isinstance(artifact, str) else artifact
        place = workdir / str(table.get("source", ""))
        field = f"artifacts.{number}"
        if not place.is_relative_to(workdir) or ".." in place.parts:
            said = f"{str(place)[:80]!r} is not below {workdir}, and nothing else is taken over"
            raise Unsuitable(what=said, field=field)
        if table.get("exclude") or table.get("service", "main") != "main":
            raise Unsuitable(what="takes a part of it, or of another container", field=field)
        yield str(place.relative_to(workdir))
