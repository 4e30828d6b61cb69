"""Steps: several instructions that an agent gets in turn, each judged by a script.

The files of a step are in `steps/NAME/` of the task's folder: `instruction.md`, and optionally
`tests/`, `solution/` and `workdir/`.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from agentbench.core.files import FileContent
from agentbench.core.network import Network
from agentbench.core.schema import Schema
from agentbench.scoring.evidence import DECIDING
from agentbench.tasks.problem import Seconds
from agentbench.tasks.scripts import (
    SOLUTION_FOLDER,
    VERIFIER_FOLDER,
    HealthCheck,
    SandboxUser,
    Verifier,
    VerifierEnvironment,
    script_files,
)
from agentbench.tasks.users import UserName

INSTRUCTION_FILE: Final = "instruction.md"
"""The instruction for the agent, in a task's folder or in that of each step."""

STEPS_FOLDER: Final = "steps"
"""The folder in a task that has a folder for each step."""

WORKDIR_FOLDER: Final = "workdir"
"""The folder of a step whose files are written to the workspace when the step begins."""

SETUP_SCRIPT: Final = "setup.sh"
"""The script in that folder that then runs, if it exists."""

_IMAGES = frozenset({"image", "dockerfile", "compose"})
_FRESH_ONLY = _IMAGES | {"takes", "leaves", "cpus", "memory_mib"}


def _named(value: object) -> object:
    """A single number as a table; it applies to the deciding reward."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return {DECIDING: value}
    if isinstance(value, dict):
        return value
    raise ValueError("is neither a number nor a table of numbers")


StepName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Reward = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class StepAgent(Schema):
    """`[steps.agent]`: the values of a step that replace those of `[agent]` and `[environment]`."""

    timeout_s: Seconds | None = None
    user: SandboxUser | None = None
    network: Network | None = None


class StepTable(Schema):
    """`[[steps]]`: the keys of its tables have priority over those of the task's tables."""

    name: StepName
    agent: StepAgent = StepAgent()
    verifier: Verifier = Verifier()
    min_reward: Annotated[dict[str, Reward], BeforeValidator(_named)] = Field(default_factory=dict)
    """The minimum rewards for running the steps after it."""
    healthcheck: HealthCheck | None = None

    @model_validator(mode="after")
    def _no_threshold(self) -> "StepTable":
        if "threshold" in self.verifier.model_fields_set:
            message = "takes no `verifier.threshold`, since all steps have one; give `min_reward`"
            raise ValueError(message)
        return self

    def with_common(self, common: Verifier) -> Verifier:
        """The verifier of the step: its own keys, and otherwise those of `[verifier]`.

        Raises:
            ValidationError: they do not fit together.
        """
        # A step with its own image, or without a fresh container, cannot use those common keys.
        own = {name: getattr(self.verifier, name) for name in self.verifier.model_fields_set}
        unused = _IMAGES if own.keys() & _IMAGES else frozenset[str]()
        if own.get("environment") is VerifierEnvironment.SHARED:
            unused = _FRESH_ONLY
        values = {name: getattr(common, name) for name in common.model_fields_set - unused}
        env = {
            name: {**getattr(common, name), **getattr(self.verifier, name)}
            for name in ("env", "env_from_host")
        }
        return Verifier.model_validate({**values, **own, **env})


class TaskStep(Schema):
    """A step with the values of its task."""

    name: str
    instruction: str
    verifier: Verifier
    timeout_s: float
    user: UserName
    network: Network = False
    min_reward: dict[str, float] = Field(default_factory=dict)
    healthcheck: HealthCheck | None = None


def check_steps(steps: Sequence[StepTable], common: Verifier) -> None:
    """Check that the tables of steps fit together.

    Raises:
        ValueError: they do not; says which.
    """
    known = set[str]()
    for step in steps:
        if step.name.lower() in known:
            raise ValueError(f"takes each step name once, found {step.name!r} again")
        known.add(step.name.lower())
        try:
            step.with_common(common)
        except ValidationError as error:
            what = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise ValueError(f"needs other keys in step {step.name}, verifier: {what}") from None


def step_faults(task: Path, steps: Sequence[StepTable], *, is_solved: bool) -> Iterator[str]:
    """The missing folders of steps: each has its own ones, or uses those of the task.

    Args:
        task: The task's folder.
        steps: The steps.
        is_solved: Whether the task has a script that solves it.
    """
    if not steps:
        if (task / STEPS_FOLDER).is_dir():
            yield f"{task / STEPS_FOLDER}: is not used; add [[steps]] to task.toml"
        return
    if os.path.lexists(task / INSTRUCTION_FILE):
        where = f"{STEPS_FOLDER}/NAME/{INSTRUCTION_FILE}"
        yield f"{task / INSTRUCTION_FILE}: is not used with [[steps]]; move it to {where}"
    needed = {VERIFIER_FOLDER: "[verifier]"}
    if is_solved:
        needed[SOLUTION_FOLDER] = "[solution]"
    for step, (name, table) in product(steps, needed.items()):
        if not (task / name).is_dir():
            yield from folder_faults(step_folder(task, step.name) / name, table)


def folder_faults(path: Path, table_name: str) -> Iterator[str]:
    """Why a folder lacks the files for the script of a table."""
    if not path.is_dir():
        yield f"{path}: is not a folder; {table_name} needs the files of its script there"
    elif not any(path.iterdir()):
        yield f"{path}: is empty; {table_name} needs the files of its script there"


def step_folder(task: Path, name: str) -> Path:
    """The folder of a step."""
    return task / STEPS_FOLDER / name


def step_files(task: Path, name: str) -> dict[PurePosixPath, FileContent]:
    """The files that a step writes to the workspace.

    Raises:
        InputError: one cannot be read.
    """
    return dict(script_files(step_folder(task, name) / WORKDIR_FOLDER))
