"""Harbor's `task.toml`, schema 1.0 to 1.4: its keys, and which of them mean something here.

Facts from the models of the `harbor` package (PyPI, 0.25.0). Keys that are in none of them are
taken along, to be named: a newer Harbor may know them.
"""

import tomllib
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, ConfigDict, Field, ValidationError

from agentbench.schema import Schema
from agentbench.tasks.importers.refusal import Refusal
from agentbench.tasks.task_fault import describe_fault

_NEWEST = (1, 4)
_LONGEST = 7 * 24 * 3600
_MEBIBYTES = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}


def _size(value: object) -> object:
    """The `2G` of schema 1.0 as mebibytes."""
    if not isinstance(value, str):
        return value
    text = value.strip().upper()
    factor = _MEBIBYTES.get(text[-1:])
    try:
        return int(float(text[:-1]) * factor) if factor is not None else value
    except (ValueError, OverflowError):
        raise ValueError("expected a size like '512M' or '2G'") from None


Seconds = Annotated[float, Field(gt=0, le=_LONGEST, allow_inf_nan=False)]
Size = Annotated[int, BeforeValidator(_size), Field(ge=64, le=2**24)]
User = str | int


class _Part(Schema):
    """A table of it; keys that nobody knows are kept apart."""

    model_config = ConfigDict(extra="allow")


class _Phase(_Part):
    network_mode: Literal["no-network", "public", "allowlist"] | None = None
    allowed_hosts: tuple[str, ...] | None = None


class AgentForm(_Phase):
    """`[agent]`."""

    timeout_sec: Seconds | None = None
    user: User | None = None


class EnvironmentForm(_Phase):
    """`[environment]`, and `[verifier.environment]`."""

    build_timeout_sec: float | None = None
    docker_image: str | None = None
    os: str = "linux"
    cpus: Annotated[float, Field(gt=0, le=256, allow_inf_nan=False)] | None = None
    memory_mb: Size | None = Field(
        default=None, validation_alias=AliasChoices("memory_mb", "memory")
    )
    storage_mb: Size | None = Field(
        default=None, validation_alias=AliasChoices("storage_mb", "storage")
    )
    gpus: int | None = None
    gpu_types: tuple[str, ...] | None = None
    tpu: dict[str, object] | None = None
    mcp_servers: tuple[dict[str, object], ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    skills_dir: str | None = None
    healthcheck: dict[str, object] | None = None
    workdir: str | None = None
    allow_internet: bool | None = None


class VerifierForm(_Phase):
    """`[verifier]`."""

    timeout_sec: Seconds = 600.0
    env: dict[str, str] = Field(default_factory=dict)
    user: User | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: EnvironmentForm | None = None
    collect: tuple[dict[str, object], ...] = ()

    @property
    def is_separate(self) -> bool:
        """Whether the script runs in an environment of its own."""
        return self.environment_mode == "separate" or (
            self.environment_mode is None and self.environment is not None
        )


class SolutionForm(_Part):
    """`[solution]`."""

    env: dict[str, str] = Field(default_factory=dict)


class PackageForm(_Part):
    """`[task]`."""

    name: Annotated[str, Field(min_length=1)]
    version: str | None = None
    description: str = ""
    authors: tuple[dict[str, object], ...] = ()
    keywords: tuple[str, ...] = ()


class HarborForm(_Part):
    """The whole file."""

    schema_version: str = Field(
        default="1.4", validation_alias=AliasChoices("schema_version", "version")
    )
    task: PackageForm | None = None
    metadata: dict[str, object] = Field(default_factory=dict)
    verifier: VerifierForm = VerifierForm()
    agent: AgentForm = AgentForm()
    environment: EnvironmentForm = EnvironmentForm()
    solution: SolutionForm = SolutionForm()
    source: str | None = None
    multi_step_reward_strategy: str | None = None
    steps: tuple[dict[str, object], ...] | None = None
    artifacts: tuple[str | dict[str, object], ...] = ()


def parse_form(text: str, *, where: str) -> HarborForm | list[Refusal]:
    """Parse the text of a task.toml; all its faults where it is none of Harbor's."""
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return [Refusal(where=where, what=f"not valid TOML: {error}")]
    try:
        form = HarborForm.model_validate(table)
    except ValidationError as error:
        return [_refusal(describe_fault(each, HarborForm), where) for each in error.errors()]
    fault = _version_fault(form.schema_version)
    return [Refusal(where=where, field="schema_version", what=fault)] if fault else form


def unknown_keys(form: HarborForm) -> Iterator[str]:
    """The keys that no schema up to 1.4 has, with the tables that they are in."""
    parts: dict[str, _Part | None] = {
        "": form,
        "task.": form.task,
        "agent.": form.agent,
        "verifier.": form.verifier,
        "verifier.environment.": form.verifier.environment,
        "environment.": form.environment,
        "solution.": form.solution,
    }
    for prefix, part in parts.items():
        for key in (part.model_extra or {}) if part is not None else ():
            yield f"{prefix}{key}"


def _refusal(said: str, where: str) -> Refusal:
    field, _, what = said.partition(": ")
    return Refusal(where=where, field=field, what=what) if what else Refusal(where=where, what=said)


def _version_fault(version: str) -> str:
    major, _, minor = version.partition(".")
    if not (major.isdigit() and (minor or "0").isdigit()) or int(major) != _NEWEST[0]:
        return f"{version[:40]!r} is none of 1.0 to {'.'.join(map(str, _NEWEST))}"
    if int(minor or "0") > _NEWEST[1]:
        return f"{version!r} is newer than 1.{_NEWEST[1]}, the newest that is known here"
    return ""
