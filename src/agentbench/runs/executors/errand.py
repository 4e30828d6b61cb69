"""What travels between a run and the node of a cluster that makes one of its attempts."""

from dataclasses import dataclass
from datetime import timedelta

from agentbench.agents.interface import Agent
from agentbench.runs.executors.node_model import ModelOrders
from agentbench.runs.record import AttemptRecord, RunId
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What is the same for every attempt of a run, wherever it is made."""

    run_id: RunId
    agentbench_version: str
    agent: Agent | str
    agent_command: str | None
    model: ModelOrders
    sandbox: str
    use_cache: bool
    registry: str | None
    timeout_scale: float
    integrity_controls: ControlLevel | None
    attempt_timeout: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One try at one attempt, with all that a node needs to know of the task."""

    orders: Orders
    task: Task
    files: bytes  # of the task, as a tar; the paths in `task` are those of the run's machine
    attempt: int
    retry_of: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What came of it: the record, and the attempt's folder as a tar."""

    record: AttemptRecord
    files: bytes
    left_out: tuple[str, ...]  # files that were too large to travel
    node: str
