"""The format of `task.toml`: what its keys are, and how a wrong one is reported."""

import re
import tomllib
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from agentbench.errors import InputError
from agentbench.schema import Schema
from agentbench.scoring.evidence import NodeId
from agentbench.tasks.problem import TaskId
from agentbench.tasks.pytest_command import parse_pytest_command

_ID = r"^[a-z0-9][a-z0-9._-]*$"
_URL = re.compile(r"^(https://|ssh://|file:///|[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:(?!/?/))\S+$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _inside(path: str) -> str:
    parts = PurePosixPath(path)
    if not path or parts.is_absolute() or ".." in parts.parts:
        raise ValueError("leaves the task's folder; give a path below it, without '..'")
    if path.startswith("-") or _CONTROL.search(path):
        raise ValueError("is no plain path: it starts with '-' or bears a control character")
    return path


def _clone_url(url: str) -> str:
    if url.endswith(".bundle") and "://" not in url:
        return _inside(url)
    if not _URL.match(url) or _CONTROL.search(url):
        raise ValueError("is no https, ssh or file URL, and no .bundle beside task.toml")
    return url


def _commit(commit: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise ValueError("is no full hash of 40 hex digits; a branch or tag can move")
    return commit


def _node_id(node_id: str) -> str:
    if node_id.startswith("-") or "::" not in node_id:
        raise ValueError("is no pytest node id like tests/test_a.py::test_b")
    _inside(node_id.partition("::")[0])
    return node_id


def _command(command: str) -> str:
    parse_pytest_command(command)
    return command


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("is no name of an environment variable")
    return name


InsidePath = Annotated[str, AfterValidator(_inside)]
Seconds = Annotated[float, Field(gt=0, le=7 * 24 * 3600, allow_inf_nan=False)]
ListedId = Annotated[NodeId, AfterValidator(_node_id)]


class RepoTable(Schema):
    """`[repo]`: files in the task's folder, or a URL and a commit."""

    path: InsidePath | None = None
    url: Annotated[str, AfterValidator(_clone_url)] | None = None
    commit: Annotated[str, AfterValidator(_commit)] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "RepoTable":
        if (self.path is None) == (self.url is None):
            raise ValueError("needs exactly one of `path` and `url`")
        if self.url is not None and self.commit is None:
            raise ValueError("with `url` needs `commit`, the full hash of the buggy commit")
        if self.path is not None and self.commit is not None:
            raise ValueError("with `path` takes no `commit`: it is derived from the files")
        return self


class EnvironmentTable(Schema):
    """`[environment]`: the image and the limits."""

    image: Annotated[str, Field(min_length=1, pattern=r"^[A-Za-z0-9][\w./:@-]*$")] | None = None
    dockerfile: InsidePath | None = None
    env: dict[Annotated[str, AfterValidator(_variable)], str] = Field(default_factory=dict)
    cpus: Annotated[float, Field(gt=0, le=256)] = 1.0
    memory_mib: Annotated[int, Field(ge=64)] = 2048
    pids: Annotated[int, Field(ge=16)] = 256
    disk_mib: Annotated[int, Field(ge=64)] = 4096

    @model_validator(mode="after")
    def _one_image(self) -> "EnvironmentTable":
        if self.image is not None and self.dockerfile is not None:
            raise ValueError("takes `image` or `dockerfile`, not both")
        return self


class SetupTable(Schema):
    """`[setup]`: shell commands, run one after the other."""

    commands: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    timeout_s: Seconds = 600.0
    network: bool = True


class PytestTable(Schema):
    """`[tests]`: how to run pytest, and which tests decide."""

    command: Annotated[str, AfterValidator(_command)] = "python -m pytest"
    paths: tuple[InsidePath, ...] = ()
    timeout_s: Seconds = 300.0
    fail_to_pass: tuple[ListedId, ...] = ()
    pass_to_pass: tuple[ListedId, ...] | Literal["baseline"] = ()
    protected: tuple[InsidePath, ...] = ()


class AgentTable(Schema):
    """`[agent]`: its limits."""

    timeout_s: Seconds = 1800.0
    max_steps: Annotated[int, Field(gt=0)] = 50
    max_cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 2.0


class TaskFile(Schema):
    """The whole of `task.toml`."""

    schema_version: Literal[1]
    id: Annotated[TaskId, Field(pattern=_ID, max_length=100)] | None = None
    title: Annotated[str, Field(min_length=1, max_length=200)]
    tags: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    repo: RepoTable
    environment: EnvironmentTable = EnvironmentTable()
    setup: SetupTable = SetupTable()
    tests: PytestTable = PytestTable()
    agent: AgentTable = AgentTable()


def parse_task_file(text: str, *, name: str) -> TaskFile:
    """Parse the text of a `task.toml`; `name` is what its faults are reported under.

    Raises:
        InputError: it is no TOML, or keys are missing, unknown or wrong: all faults at once.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name}: not valid TOML: {error}") from None
    try:
        return TaskFile.model_validate(table)
    except ValidationError as error:
        raise InputError(*(f"{name}: {_fault(detail)}" for detail in error.errors())) from None


def _fault(detail: ErrorDetails) -> str:
    where = ".".join(
        str(part) for part in detail["loc"] if not str(part).startswith(("literal", "tuple"))
    )
    found = repr(detail["input"])
    found = found if len(found) <= 80 else f"{found[:77]}..."
    context = detail.get("ctx", {})
    match detail["type"]:
        case "missing":
            return f"{where}: is missing"
        case "extra_forbidden":
            return f"{where}: unknown key{_suggestion(detail)}"
        case "greater_than":
            return f"{where}: {found} is not above {context['gt']}"
        case "value_error":
            said = str(context["error"])
            return (
                f"{where}: {said}"
                if said.startswith(("needs", "with", "takes"))
                else (f"{where}: {found} {said}")
            )
        case _:
            return f"{where}: {found}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"


def _suggestion(detail: ErrorDetails) -> str:
    table: type[Schema] = TaskFile
    for part in detail["loc"][:-1]:
        field = table.model_fields.get(str(part))
        if field is None or not isinstance(field.annotation, type):
            return ""
        table = field.annotation
    known = list(table.model_fields)
    close = get_close_matches(str(detail["loc"][-1]), known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known here: {', '.join(known)}"
