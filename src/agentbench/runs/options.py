"""The options of a run in Python: its settings, its model, and the objects of this process."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import ConfigDict, Field, SkipValidation

from agentbench.agents.interface import Agent, SpeaksApiFormats, UsesModel
from agentbench.attempt.settings import RunSettings
from agentbench.core.extras import GATEWAY, require
from agentbench.errors import UsageError
from agentbench.models.interface import ModelGateway
from agentbench.runs.environment import default_cache_dir
from agentbench.sandbox.interface import SandboxProvider

if TYPE_CHECKING:
    from agentbench.models.gateway.gateway import Gateway


VALIDATION = "validation"
"""The folder below `runs_dir` for runs that validate tasks."""
_RESERVED = frozenset({"last", VALIDATION})


class RunOptions(RunSettings):
    """The options of a run; each has the name of its option on the command line."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    agent: Annotated[Agent | str, SkipValidation] = "oracle"
    sandbox: Annotated[SandboxProvider | str, SkipValidation] = "auto"
    jobs: int | None = None  # None: as many as fit the machine
    probe: bool = True  # ask the model for one token before the first attempt
    runs_dir: Path = Path("runs")
    run_id: str | None = None
    allow_unsandboxed: bool = False
    cache_dir: Path = Field(default_factory=default_cache_dir)
    say: Callable[[str], None] = lambda _line: None  # receives a line before slow work

    def check(self) -> None:
        """Refuse values that make no sense.

        Raises:
            UsageError: one of them does not.
        """
        super().check()
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"--jobs: {self.jobs} is not above 0")
        if self.run_id is not None:
            _check_run_id(self.run_id)


def _check_run_id(text: str) -> None:
    plain = all(c.isascii() and (c.isalnum() or c in "._-") for c in text)
    if not (plain and text[:1].isalnum()):
        raise UsageError(f"--run-id: {text!r} is not a plain name of [A-Za-z0-9._-]")
    if text in _RESERVED:
        raise UsageError(f"--run-id: {text!r} is reserved; choose another name")


_WITHOUT_MODEL = frozenset({"oracle", "noop"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The model of a run: the part of its settings that opens a gateway."""

    name: str | None = None  # the value of --model; None also for a replay
    base_url: str | None = None
    prices: Path | None = None  # of models that have no known price
    record: Path | None = None
    replay: Path | None = None

    @classmethod
    def of(cls, settings: RunSettings) -> "ModelSettings":
        """The model of a run's settings."""
        return cls(
            name=settings.model,
            base_url=settings.base_url,
            prices=settings.prices,
            record=settings.record,
            replay=settings.replay,
        )

    def check(self, agent: Agent) -> None:
        """Refuse an agent without its model or library, before anything starts.

        Raises:
            UsageError: the agent needs a model and has none, or a library is missing.
        """
        if isinstance(agent, UsesModel) and agent.needs_model and not self._has_model:
            raise UsageError(f"--agent {agent.name} needs --model, as in --model openai/NAME")
        if self._has_model and agent.name not in _WITHOUT_MODEL:
            require("--model", GATEWAY)

    @property
    def _has_model(self) -> bool:
        return self.name is not None or self.replay is not None

    @contextmanager
    def opened(
        self, agent: Agent, *, probe: bool, environ: Mapping[str, str] | None = None
    ) -> Iterator[ModelGateway | None]:
        """The gateway to the model; None for an agent that uses none.

        Args:
            agent: The agent of the attempts.
            probe: Ask the model for one token first.
            environ: The variables with keys and base URLs; by default those of the process.

        Raises:
            InputError: a recording or a file of prices cannot be read.
            UsageError: the model is not known, or its key or name is refused.
            UnavailableError: it does not answer.
        """
        if not self._has_model or agent.name in _WITHOUT_MODEL:
            yield None
            return
        with self._running(os.environ if environ is None else environ) as gateway:
            _check_api_formats(agent, gateway)
            if probe:
                gateway.probe()
            yield gateway

    def _running(self, environ: Mapping[str, str]) -> "AbstractContextManager[Gateway]":
        from agentbench.models.gateway.gateway import run_gateway
        from agentbench.models.gateway.providers import resolve_model
        from agentbench.models.model_catalogue import known_prices, load_prices

        prices = load_prices(self.prices) if self.prices is not None else known_prices()
        if self.replay is not None:
            return run_gateway(None, model=self._recorded(), prices=prices, replay=self.replay)
        assert self.name is not None
        found = resolve_model(self.name, environ=environ, base_url=self.base_url)
        return run_gateway(found.endpoints, model=found.model, prices=prices, record=self.record)

    def _recorded(self) -> str:
        from agentbench.models.gateway.recording import read_recording

        assert self.replay is not None
        recorded = read_recording(self.replay).head.model
        if self.record is not None:
            raise UsageError("--record and --replay do not go together: a replay has nothing new")
        if self.name is not None and not f"/{self.name}".endswith(f"/{recorded}"):
            raise UsageError(f"{self.replay} was recorded with {recorded}, not with {self.name}")
        return recorded


def _check_api_formats(agent: Agent, gateway: ModelGateway) -> None:
    if isinstance(agent, SpeaksApiFormats) and agent.api_formats.isdisjoint(gateway.api_formats):
        own, there = (
            ", ".join(sorted(wires)) for wires in (agent.api_formats, gateway.api_formats)
        )
        raise UsageError(
            f"--agent {agent.name} speaks {own}, but {gateway.model} is reached by {there}; take "
            "another agent, or a server that speaks it (--base-url)"
        )
