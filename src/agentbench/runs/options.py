"""The options of a run in Python: its settings, and what only this process needs to know."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, SkipValidation

from agentbench.agents.interface import Agent
from agentbench.attempt.settings import RunSettings
from agentbench.errors import UsageError
from agentbench.runs.environment import default_cache_dir
from agentbench.sandbox.interface import SandboxProvider

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
