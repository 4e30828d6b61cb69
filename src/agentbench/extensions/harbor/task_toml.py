"""Harbor's `task.toml`, schema 1.0 to 1.4: its keys, and the templates in environment values.

The facts are from the models of the `harbor` package (PyPI, 0.25.0). Unknown keys are reported,
since a newer Harbor may know them. `${NAME}` is a variable of the host, which a run may allow.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, ConfigDict, Field, ValidationError

from agentbench.core.schema import Schema
from agentbench.importers.task_folders import Seconds, validation_rejections
from agentbench.tasks.dataset_rows import Rejection

_TEMPLATE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?\}", re.DOTALL)
_NEWEST_SCHEMA = (1, 4)
_MEBIBYTES = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}
User = str | int


def split_env(env: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The values of variables, or their templates' defaults, and the variables of the host."""
    values, from_host = dict[str, str](), dict[str, str]()
    for key, value in env.items():
        template = _TEMPLATE.fullmatch(value)
        if template is not None:
            from_host[key] = template[1]
        if template is None or template[2] is not None:
            values[key] = value if template is None else template[2]
    return values, from_host


def _parse_size(value: object) -> object:
    """A size of schema 1.0, such as `2G`, in mebibytes."""
    if not isinstance(value, str):
        return value
    text = value.strip().upper()
    factor = _MEBIBYTES.get(text[-1:])
    try:
        return int(float(text[:-1]) * factor) if factor is not None else value
    except (ValueError, OverflowError):
        raise ValueError("expected a size like '512M' or '2G'") from None


Size = Annotated[int, BeforeValidator(_parse_size), Field(ge=64, le=2**24)]


class _HarborTable(Schema):
    """A table of the file; unknown keys are collected separately."""

    model_config = ConfigDict(extra="allow")


class PhaseTable(_HarborTable):
    """The common keys of all tables with a network."""

    network_mode: Literal["no-network", "public", "allowlist"] | None = None
    allowed_hosts: tuple[str, ...] | None = None


class HarborAgentTable(PhaseTable):
    """`[agent]`."""

    timeout_sec: Seconds | None = None
    user: User | None = None


class HarborEnvironmentTable(PhaseTable):
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


class HarborVerifierTable(PhaseTable):
    """`[verifier]`."""

    timeout_sec: Seconds = 600.0
    env: dict[str, str] = Field(default_factory=dict)
    user: User | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: HarborEnvironmentTable | None = None
    collect: tuple[dict[str, object], ...] = ()

    @property
    def is_separate(self) -> bool:
        """Whether the verifier has its own environment."""
        return self.environment_mode == "separate" or (
            self.environment_mode is None and self.environment is not None
        )


class HarborSolutionTable(_HarborTable):
    """`[solution]`."""

    env: dict[str, str] = Field(default_factory=dict)


class HarborStepTable(_HarborTable):
    """`[[steps]]`."""

    name: Annotated[str, Field(min_length=1)]
    agent: HarborAgentTable = HarborAgentTable()
    verifier: HarborVerifierTable = HarborVerifierTable()
    min_reward: float | dict[str, float] | None = None
    healthcheck: dict[str, object] | None = None
    artifacts: tuple[str | dict[str, object], ...] = ()


class HarborTaskTable(_HarborTable):
    """`[task]`."""

    name: Annotated[str, Field(min_length=1)]
    version: str | None = None
    description: str = ""
    authors: tuple[dict[str, object], ...] = ()
    keywords: tuple[str, ...] = ()


class HarborTaskFile(_HarborTable):
    """The whole file."""

    schema_version: str = Field(
        default="1.4", validation_alias=AliasChoices("schema_version", "version")
    )
    task: HarborTaskTable | None = None
    metadata: dict[str, object] = Field(default_factory=dict)
    verifier: HarborVerifierTable = HarborVerifierTable()
    agent: HarborAgentTable = HarborAgentTable()
    environment: HarborEnvironmentTable = HarborEnvironmentTable()
    solution: HarborSolutionTable = HarborSolutionTable()
    source: str | None = None
    multi_step_reward_strategy: Literal["mean", "final"] | None = None
    steps: tuple[HarborStepTable, ...] | None = None
    artifacts: tuple[str | dict[str, object], ...] = ()

    @property
    def phases(self) -> "tuple[HarborTaskFile, ...]":
        """The file as it is in each step; without steps, the file itself."""
        return tuple(map(self.in_step, self.steps)) if self.steps else (self,)

    def in_step(self, step: HarborStepTable) -> "HarborTaskFile":
        """The file as if the step were the whole task: its own keys, then those of all steps."""
        agent = self.agent.replace(**step.agent.model_dump(exclude_none=True))
        own, common = step.verifier, self.verifier
        is_separate = own.is_separate if own.environment_mode or own.environment else None
        verifier = common.replace(
            timeout_sec=own.timeout_sec,
            env={**common.env, **own.env},
            user=common.user if own.user is None else own.user,
            environment_mode="separate"
            if (common.is_separate if is_separate is None else is_separate)
            else "shared",
            environment=own.environment or common.environment,
            collect=(*common.collect, *own.collect),
            network_mode=own.network_mode or common.network_mode,
            allowed_hosts=own.allowed_hosts or common.allowed_hosts,
        )
        artifacts = (*self.artifacts, *step.artifacts)
        return self.replace(agent=agent, verifier=verifier, artifacts=artifacts, steps=None)


def parse_harbor_task_file(text: str, *, where: str) -> HarborTaskFile | list[Rejection]:
    """Parse the text of a task.toml; returns all its faults if it is invalid."""
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return [Rejection(where=where, what=f"not valid TOML: {error}")]
    try:
        form = HarborTaskFile.model_validate(table)
    except ValidationError as error:
        return validation_rejections(error, HarborTaskFile, where=where)
    version = form.schema_version
    major, _, minor = version.partition(".")
    if not (major.isdigit() and (minor or "0").isdigit()) or int(major) != _NEWEST_SCHEMA[0]:
        fault = f"{version[:40]!r} is not one of 1.0 to {'.'.join(map(str, _NEWEST_SCHEMA))}"
    elif int(minor or "0") > _NEWEST_SCHEMA[1]:
        fault = f"{version!r} is newer than 1.{_NEWEST_SCHEMA[1]}, the newest that is known here"
    else:
        return form
    return [Rejection(where=where, field="schema_version", what=fault)]


def unknown_keys(form: HarborTaskFile) -> Iterator[str]:
    """The keys that are in no schema up to 1.4, with their tables."""
    parts: dict[str, _HarborTable | None] = {
        "": form,
        "task.": form.task,
        "agent.": form.agent,
        "verifier.": form.verifier,
        "verifier.environment.": form.verifier.environment,
        "environment.": form.environment,
        "solution.": form.solution,
    }
    for number, step in enumerate(form.steps or ()):
        where = f"steps.{number}."
        parts |= {where: step, f"{where}agent.": step.agent, f"{where}verifier.": step.verifier}
        parts[f"{where}verifier.environment."] = step.verifier.environment
    for prefix, part in parts.items():
        for key in (part.model_extra or {}) if part is not None else ():
            yield f"{prefix}{key}"
