"""What a run may be told, and what of it cannot be right."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from agentbench.agents.interface import Agent
from agentbench.attempt.shared_preparations import check_registry
from agentbench.core.choices import ControlLevel, ExecutorName
from agentbench.errors import UsageError
from agentbench.runs.environment import default_cache_dir
from agentbench.sandbox.interface import SandboxProvider

VALIDATION = "validation"
"""The folder below `runs_dir` for runs that prove tasks."""
_RESERVED = frozenset({"last", VALIDATION})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a run may be told; the command line's options, typed."""

    agent: Agent | str = "oracle"
    agent_command: str | None = None
    model: str | None = None
    base_url: str | None = None  # of the model's server, where it is not the provider's own
    prices: Path | None = None  # of models, beside the known ones
    probe: bool = True  # ask the model for a token before anything is made for attempts
    record: Path | None = None  # the model's answers, for a replay
    replay: Path | None = None
    attempts: int = 1
    jobs: int | None = None  # None: what fits the machine
    executor: ExecutorName = ExecutorName.LOCAL
    sandbox: SandboxProvider | str = "auto"
    runs_dir: Path = Path("runs")
    run_id: str | None = None
    retries: int = 2
    max_outage: timedelta | None = None  # None: 15 minutes for engine and model, 1 for a disk
    attempt_timeout: timedelta | None = None  # None: what all its stages may take, and some more
    use_cache: bool = True
    registry: str | None = None  # HOST[:PORT][/PATH] by which machines share preparations
    timeout_scale: float = 1.0
    max_cost_usd: float | None = None
    shuffle_seed: int | None = None
    integrity_controls: ControlLevel | None = None  # None: each task's own
    allow_unsandboxed: bool = False
    cache_dir: Path = field(default_factory=default_cache_dir)
    say: Callable[[str], None] = lambda _line: None  # is told what takes long before attempts


def check_options(options: RunOptions) -> None:
    """Refuse numbers that make no sense.

    Raises:
        UsageError: one does not.
    """
    if options.attempts < 1:
        raise UsageError(f"--attempts: {options.attempts} is not above 0")
    if options.jobs is not None and options.jobs < 1:
        raise UsageError(f"--jobs: {options.jobs} is not above 0")
    if options.retries < 0:
        raise UsageError(f"--retries: {options.retries} is below 0")
    if options.max_outage is not None and options.max_outage < timedelta(0):
        raise UsageError(f"--max-outage: {options.max_outage} is below 0")
    if options.attempt_timeout is not None and options.attempt_timeout <= timedelta(0):
        raise UsageError(f"--attempt-timeout: {options.attempt_timeout} is not above 0")
    if not 0 < options.timeout_scale < float("inf"):
        raise UsageError(f"--timeout-scale: {options.timeout_scale} is not above 0")
    if options.run_id is not None:
        _check_run_id(options.run_id)
    _check_cluster(options)


def _check_cluster(options: RunOptions) -> None:
    if options.registry is not None:
        check_registry(options.registry)
    if options.executor is not ExecutorName.LOCAL and (options.record or options.replay):
        raise UsageError(
            "--executor ray: --record and --replay need the one gateway of one machine; leave them "
            "out, or run with --executor local"
        )


def _check_run_id(text: str) -> None:
    plain = all(c.isascii() and (c.isalnum() or c in "._-") for c in text)
    if not (plain and text[:1].isalnum()):
        raise UsageError(f"--run-id: {text!r} is no plain name of [A-Za-z0-9._-]")
    if text in _RESERVED:
        raise UsageError(f"--run-id: {text!r} has a meaning of its own; choose another")
