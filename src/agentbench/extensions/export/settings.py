"""The options of an export, and what became of the attempts."""

from collections import Counter
from dataclasses import dataclass, field

from agentbench.extensions.export.option_values import ExportFormat
from agentbench.extensions.export.selection import Selection
from agentbench.judge.reward_kind import RewardKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """How to export."""

    format: ExportFormat
    selection: Selection
    reward: RewardKind = RewardKind.RESOLVED
    unchecked: bool = False  # also attempts whose tasks cannot be read
    test_names: bool = False
    pairs_per_task: int = 4
    seed: int = 0
    license: str | None = None
    overwrite: bool = False


@dataclass(slots=True, kw_only=True)
class ExportCounts:
    """What became of the attempts."""

    attempts: int = 0  # of all runs
    selected: int = 0  # by the filters
    rows: int = 0
    unchecked: int = 0  # rows
    redacted: int = 0  # rows
    left_out: Counter[str] = field(default_factory=Counter)  # by the reason
    verdicts: Counter[str] = field(default_factory=Counter)  # of the attempts in rows
    reasons: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    tasks: dict[str, str] = field(default_factory=dict)  # digests and ids
