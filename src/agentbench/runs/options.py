"""The options of a run in Python: its settings and objects of this process; opens its model."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import ConfigDict, Field, SkipValidation, ValidationError

from agentbench.agents.built_in import REFERENCE_AGENTS
from agentbench.agents.interface import Agent, SpeaksApiFormats, UsesModel
from agentbench.agents.registry import AgentLike
from agentbench.attempt.settings import RunSettings
from agentbench.core.extras import GATEWAY, require
from agentbench.core.host import default_cache_dir
from agentbench.core.schema import describe_validation_error
from agentbench.errors import UsageError
from agentbench.models.interface import ApiFormat, ModelGateway
from agentbench.sandbox.interface import SandboxProvider

if TYPE_CHECKING:
    from agentbench.models.gateway.gateway import Gateway


VALIDATION = "validation"  # the folder below `runs_dir` for runs that validate tasks
_RESERVED = frozenset({"last", VALIDATION})


def refuse_file(runs_dir: Path) -> None:
    """Refuse a folder of runs that is a file, or a link to nothing.

    Raises:
        UsageError: it is.
    """
    if os.path.lexists(runs_dir) and not runs_dir.is_dir():
        raise UsageError(
            f"{runs_dir}: expected a folder of runs, found none; choose another --runs-dir"
        )


class RunOptions(RunSettings):
    """The options of a run; each has the name of its option on the command line."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    agent: Annotated[AgentLike | str | None, SkipValidation] = (
        None  # None: --agent-command, or none
    )
    sandbox: Annotated[SandboxProvider | str, SkipValidation] = "auto"
    jobs: int | None = None  # None: as many as fit the machine
    probe: bool = True  # ask the model for one token before the first attempt
    runs_dir: Path = Path("runs")
    run_id: str | None = None
    allow_unsandboxed: bool = False
    cache_dir: Path = Field(default_factory=default_cache_dir)
    say: Callable[[str], None] = lambda _line: None  # receives a line before slow work

    if not TYPE_CHECKING:  # type checkers derive the arguments from the fields

        def __init__(self, **values: object) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                each = [describe_validation_error(fault, RunOptions) for fault in error.errors()]
                faults = "; ".join(each).replace("unknown key", "there is no such argument")
                raise UsageError(f"RunOptions: {faults}") from None

    @property
    def selected_agent(self) -> AgentLike | str:
        """The agent, or its name; a command without an agent is that of `--agent command`.

        Raises:
            UsageError: neither is given.
        """
        if self.agent is not None:
            return self.agent
        if self.agent_command is not None:
            return "command"
        raise UsageError(
            "--agent is missing: choose --agent oracle (checks that the tasks can be solved), "
            "--agent noop (changes nothing), --agent-command '…' (your own program), or a name "
            "that `agentbench agents list` shows"
        )

    def check(self) -> None:
        """Refuse values that make no sense.

        Raises:
            UsageError: one of them makes no sense.
        """
        super().check()
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"--jobs: {self.jobs} is not above 0")
        refuse_file(self.runs_dir)
        text = self.run_id
        if text is not None:
            # The id is the name of a folder, and an argument of other commands.
            plain = all(c.isascii() and (c.isalnum() or c in "._-") for c in text)
            if not (plain and text[:1].isalnum()):
                raise UsageError(f"--run-id: {text!r} is not a plain name of [A-Za-z0-9._-]")
            if text in _RESERVED:
                raise UsageError(f"--run-id: {text!r} is reserved; choose another name")
        # Options of a model have no effect on an agent without one, which a user would not expect.
        if self.agent not in REFERENCE_AGENTS:
            return
        options = {
            "--model": self.model,
            "--base-url": self.base_url,
            "--prices": self.prices,
            "--record": self.record,
            "--replay": self.replay,
        }
        given = [name for name, value in options.items() if value is not None]
        if given:
            raise UsageError(f"{given[0]} is for an agent with a model, found --agent {self.agent}")


def check_model(settings: RunSettings, agent: Agent) -> None:
    """Refuse an agent without its model or library, before anything starts.

    Raises:
        UsageError: the agent needs a model and has none, or a library is missing.
    """
    has_model = _has_model(settings)
    if isinstance(agent, UsesModel) and agent.needs_model and not has_model:
        formats = agent.api_formats if isinstance(agent, SpeaksApiFormats) else frozenset()
        # An example that the agent would refuse helps nobody.
        provider = "anthropic" if formats == {ApiFormat.ANTHROPIC_MESSAGES} else "openai"
        provider = "google" if formats == {ApiFormat.GEMINI_GENERATE} else provider
        raise UsageError(f"--agent {agent.name} needs --model, as in --model {provider}/NAME")
    if has_model and agent.name not in REFERENCE_AGENTS:
        require("--model", GATEWAY)


@contextmanager
def open_model(
    settings: RunSettings,
    agent: Agent,
    *,
    probe: bool,
    environ: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> Iterator[ModelGateway | None]:
    """The gateway to the model of a run; None for an agent that uses none.

    Args:
        settings: The settings of the run.
        agent: The agent of the attempts.
        probe: Ask the model for one token first.
        environ: The variables with keys and base URLs; by default the process's own.
        say: Receives a line while a server loads the model.

    Raises:
        InputError: a recording or a file of prices cannot be read.
        UsageError: the model is not known, or its key or name is refused.
        UnavailableError: it does not answer.
    """
    if not _has_model(settings) or agent.name in REFERENCE_AGENTS:
        yield None
        return
    with _gateway(settings, os.environ if environ is None else environ) as gateway:
        offered = gateway.api_formats
        if isinstance(agent, SpeaksApiFormats) and agent.api_formats.isdisjoint(offered):
            own, theirs = (", ".join(sorted(each)) for each in (agent.api_formats, offered))
            raise UsageError(
                f"--agent {agent.name} supports {own}, but {gateway.model} offers {theirs}; use "
                "another agent, or a server that supports it (--base-url)"
            )
        if probe:
            gateway.probe(say=say)
        yield gateway


def _has_model(settings: RunSettings) -> bool:
    return settings.model is not None or settings.replay is not None


def _gateway(
    settings: RunSettings, environ: Mapping[str, str]
) -> "AbstractContextManager[Gateway]":
    from agentbench.models.gateway.gateway import run_gateway
    from agentbench.models.gateway.providers import resolve_model
    from agentbench.models.gateway.recording import read_recording
    from agentbench.models.model_catalogue import known_prices, load_prices

    prices = load_prices(settings.prices) if settings.prices is not None else known_prices()
    name, replay = settings.model, settings.replay
    if replay is not None:
        recorded = read_recording(replay).head.model
        if settings.record is not None:
            raise UsageError(
                "--record and --replay cannot be combined: a replay has no new answers"
            )
        if name is not None and not f"/{name}".endswith(f"/{recorded}"):
            raise UsageError(f"{replay} was recorded with {recorded}, not with {name}")
        return run_gateway(None, model=recorded, prices=prices, replay=replay)
    assert name is not None
    found = resolve_model(name, environ=environ, base_url=settings.base_url)
    return run_gateway(found.endpoints, model=found.model, prices=prices, record=settings.record)
