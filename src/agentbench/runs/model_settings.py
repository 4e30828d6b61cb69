"""Which model the attempts of a run use, where it is, and opening the gateway to it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentbench.agents.interface import Agent, SpeaksApiFormats, UsesModel
from agentbench.core.extras import GATEWAY, require
from agentbench.errors import UsageError
from agentbench.models.interface import ModelGateway

if TYPE_CHECKING:
    from agentbench.models.gateway.gateway import Gateway

_WITHOUT_MODEL = frozenset({"oracle", "noop"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """What a run was told about its model."""

    name: str | None = None  # as --model has it; a replay knows its own
    base_url: str | None = None
    prices: Path | None = None  # beside the known ones
    record: Path | None = None
    replay: Path | None = None

    def check(self, agent: Agent) -> None:
        """Refuse what cannot work, before anything is started.

        Raises:
            UsageError: the agent needs a model and has none, or a library is missing.
        """
        if isinstance(agent, UsesModel) and agent.needs_model and not self._is_wanted:
            raise UsageError(f"--agent {agent.name} needs --model, as in --model openai/NAME")
        if self._is_wanted and agent.name not in _WITHOUT_MODEL:
            require("--model", GATEWAY)

    @property
    def _is_wanted(self) -> bool:
        return self.name is not None or self.replay is not None

    @contextmanager
    def opened(
        self, agent: Agent, *, probe: bool, environ: Mapping[str, str] | None = None
    ) -> Iterator[ModelGateway | None]:
        """The gateway to the model; None for an agent that uses none.

        Args:
            agent: Whose attempts it is for.
            probe: Whether the model is asked for a token first.
            environ: Where keys and base URLs are looked up; the process's own by default.

        Raises:
            InputError: a recording or a file of prices cannot be read.
            UsageError: the model is not known, or its key or name is refused.
            UnavailableError: it does not answer.
        """
        if not self._is_wanted or agent.name in _WITHOUT_MODEL:
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
