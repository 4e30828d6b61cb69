"""The settings of a run: every option that its record keeps and its attempts follow.

All parts share one value: `run.json` stores it, `resume` reads it, workers on other machines
receive it, and every stage of an attempt uses it.
"""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Self

from pydantic import ConfigDict, Field, WithJsonSchema

from agentbench.attempt.executor_name import ExecutorName
from agentbench.core.schema import Schema
from agentbench.errors import UsageError
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.mirror import CLONE_TIMEOUT
from agentbench.tasks.task import Task
from agentbench.taxonomy import StageName

_HOST = r"(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)+|[a-z0-9.-]+(?=:))(?::[0-9]{1,5})?"
_REPOSITORY_PATH = r"(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
_TAG = re.compile(r"[A-Za-z0-9._:=/-]{1,100}")
_REPOSITORY = re.compile(f"{_HOST}{_REPOSITORY_PATH}")
_FilePath = Annotated[Path, WithJsonSchema({"type": "string"})]


_GIT_CHECKOUT_TIMEOUT = timedelta(minutes=10)
_OWN_SECONDS = 900.0  # for work of the harness between the commands of stages
# More control runs than an attempt needs: usually one sealed run, and two blind ones at most.
_CONTROLS = (StageName.BASELINE_RUN, *(StageName.FINAL_TEST,) * 8)
_SECONDS: Mapping[StageName, Callable[[Task], float]] = MappingProxyType(
    {
        StageName.GIT_CLONE: lambda _task: CLONE_TIMEOUT.total_seconds(),
        StageName.GIT_CHECKOUT: lambda _task: _GIT_CHECKOUT_TIMEOUT.total_seconds(),
        StageName.SETUP: lambda task: task.setup.timeout_s,
        StageName.BASELINE_RUN: lambda task: task.judged_seconds,
        StageName.AGENT_RUN: lambda task: task.agent_seconds,
        StageName.FINAL_TEST: lambda task: task.judged_seconds,
    }
)


MOST_ATTEMPTS = 100_000
"""At each task: a plan has a row for each attempt, so that more would fill the memory."""


class RunSettings(Schema):
    """Every option of a run that does not depend on the machine it runs on."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    agent_command: str | None = None
    """The shell command of the agent `command`."""
    agent_files: tuple[_FilePath, ...] = ()
    """Files and folders of this machine that the command uses."""
    model: str | None = None
    """The model, as PROVIDER/MODEL."""
    base_url: str | None = None
    """The address of the model's server; null: the provider's own."""
    prices: _FilePath | None = None
    """A file with prices of models that have no known price."""
    record: _FilePath | None = None
    """The file to which the model's answers are written, for a replay."""
    replay: _FilePath | None = None
    """The file from which the model's answers are read."""
    attempts: int = 1
    """The number of attempts at each task."""
    executor: ExecutorName = ExecutorName.LOCAL
    """The executor of the attempts: this machine, or a Ray cluster."""
    timeout_scale: float = 1.0
    """The factor by which the time limits of the stages are multiplied."""
    retries: int = 2
    """The number of retries after an infrastructure failure."""
    max_outage: timedelta | None = Field(default=None, alias="max_outage_s")
    """Seconds to wait for a lost engine, model or disk; null: 900, 60 for a disk."""
    attempt_timeout: timedelta | None = Field(default=None, alias="attempt_timeout_s")
    """The limit of a whole attempt in seconds; null: the sum of its stages' limits and a margin."""
    agent_timeout: timedelta | None = Field(default=None, alias="agent_timeout_s")
    """The limit of the agent's work in seconds, of each step's in a task with steps; null: each
    task's own, scaled."""
    use_cache: bool = True
    """Whether prepared tasks are taken from the cache and stored in it."""
    registry: str | None = None
    """HOST[:PORT][/PATH] of the registry through which machines share preparations."""
    max_cost_usd: float | None = None
    """The cost of model calls in US dollars at which the run stops."""
    max_failures: int | None = None
    """After this many failures, except infrastructure failures, no further attempt starts."""
    timeline: bool = False
    """Whether the states of each agent's work are noted, and judged afterwards."""
    timeline_judgements: int = Field(default=12, ge=2)
    """The most states of one attempt that are judged."""
    tell_limits: bool = False
    """Whether each instruction ends with the limits of time, steps and money."""
    allow_env: tuple[str, ...] = ()
    """Variables of this machine that tasks may read."""
    integrity_controls: ControlLevel | None = None
    """How many control runs each attempt has; null: each task's own choice."""
    runtime: str | None = None
    """The runtime of the container engine; null: each task's own."""
    shuffle_seed: int | None = None
    """The seed of the order of attempts; null: they are not shuffled."""
    note: str | None = None
    """What its owner wrote about the run."""
    tags: tuple[str, ...] = ()
    """The run's tags, by which `agentbench runs` selects."""

    def scaled(self, seconds: float) -> timedelta:
        """A time limit of a task, scaled by `--timeout-scale`."""
        return timedelta(seconds=seconds * self.timeout_scale)

    def settings(self) -> "RunSettings":
        """Only these settings, without what a subclass adds."""
        return RunSettings.model_validate({name: getattr(self, name) for name in _NAMES})

    def replace(self, **changes: object) -> Self:
        """A copy with changed values.

        Raises:
            ValidationError: there is no such setting, or its value has another type.
        """
        return self.model_validate({**dict(self), **changes})

    def check(self) -> None:
        """Refuse invalid values.

        Raises:
            UsageError: a value is invalid.
        """
        if self.attempts < 1:
            raise UsageError(f"--attempts: {self.attempts} is not above 0")
        if self.attempts > MOST_ATTEMPTS:
            raise UsageError(f"--attempts: {self.attempts} is above {MOST_ATTEMPTS}")
        if self.retries < 0:
            raise UsageError(f"--retries: {self.retries} is below 0")
        # No sum reaches NaN, so such a limit would never hold.
        if self.max_cost_usd is not None and not self.max_cost_usd >= 0:
            raise UsageError(f"--max-cost: {self.max_cost_usd} is not a number of at least 0")
        if self.max_failures is not None and self.max_failures < 1:
            raise UsageError(f"--max-failures: {self.max_failures} is not above 0")
        if self.max_outage is not None and self.max_outage < timedelta(0):
            raise UsageError(f"--max-outage: {self.max_outage} is below 0")
        if self.attempt_timeout is not None and self.attempt_timeout <= timedelta(0):
            raise UsageError(f"--attempt-timeout: {self.attempt_timeout} is not above 0")
        if self.agent_timeout is not None and self.agent_timeout <= timedelta(0):
            raise UsageError(f"--agent-timeout: {self.agent_timeout} is not above 0")
        if not 0 < self.timeout_scale < float("inf"):
            raise UsageError(f"--timeout-scale: {self.timeout_scale} is not above 0")
        if self.note is not None and (not self.note.strip() or not self.note.isprintable()):
            raise UsageError(f"--note: expected a line of text, found {self.note!r}")
        if wrong := [tag for tag in self.tags if not _TAG.fullmatch(tag)]:
            raise UsageError(f"--run-tag: {wrong[0]!r} is not a plain name of [A-Za-z0-9._:=/-]")
        if self.registry is not None:
            _check_registry(self.registry)
        if self.executor is not ExecutorName.LOCAL:
            self._check_executor()

    def _check_executor(self) -> None:
        """Refuse what only this machine has.

        Raises:
            UsageError: a setting needs this machine.
        """
        if self.allow_env:
            raise UsageError(
                "--executor ray: --allow-env names variables of this machine, which other machines "
                "do not get; run with --executor local"
            )
        if self.agent_files:
            raise UsageError(
                "--executor ray: --agent-files names files of this machine, which other machines "
                "do not get; put them into the tasks' image, or run with --executor local"
            )
        if self.record or self.replay:
            raise UsageError(
                "--executor ray: --record and --replay need the one gateway of one machine; leave "
                "them out, or run with --executor local"
            )


_NAMES = tuple(RunSettings.model_fields)


def _check_registry(registry: str) -> None:
    """Refuse a value that engines do not accept as the address of a repository.

    Raises:
        UsageError: it is not such an address.
    """
    if not _REPOSITORY.fullmatch(registry):
        raise UsageError(
            f"--registry: expected HOST[:PORT][/PATH] in lower case, as in registry.example:5000/"
            f"team, found {registry!r}"
        )


def stage_timeout(stage: StageName, task: Task, settings: RunSettings) -> timedelta:
    """The time limit of a stage; in git_clone, of each of its two parts."""
    if stage is StageName.AGENT_RUN and settings.agent_timeout is not None:
        return settings.agent_timeout * max(1, len(task.pending_steps))
    return settings.scaled(_SECONDS[stage](task))


def attempt_time_limit(task: Task, settings: RunSettings) -> timedelta:
    """The time limit of an attempt as a whole.

    The default is the sum of all stages' limits, with the limit of the final test several times for
    its control runs, and a margin. It is far more than a working attempt needs.
    """
    if settings.attempt_timeout is not None:
        return settings.attempt_timeout
    limits = [stage_timeout(stage, task, settings) for stage in (*StageName, *_CONTROLS)]
    own_seconds = _OWN_SECONDS + len(task.steps) * task.setup.timeout_s
    return sum(limits, start=settings.scaled(own_seconds))
