"""The public names of scoring: the taxonomy, the evidence, the verdict.

Importing `FailureReason` or `StageName` loads only an enum; everything that needs pydantic is
imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from agentbench.taxonomy import FailureReason, Fault, StageName

if TYPE_CHECKING:
    from agentbench.scoring.classification import Failure, classify
    from agentbench.scoring.evidence import (
        AgentEnding,
        CaseFact,
        CaseOutcome,
        CommandResult,
        Ending,
        Evidence,
        Finding,
        PytestOutcome,
        ReportFacts,
        ReportSource,
        Severity,
        StageResult,
    )
    from agentbench.scoring.expectation import ExpectedTests
    from agentbench.scoring.statistics import Interval, wilson_interval
    from agentbench.scoring.verdict import Verdict, judge

__all__ = [
    "AgentEnding",
    "CaseFact",
    "CaseOutcome",
    "CommandResult",
    "Ending",
    "Evidence",
    "ExpectedTests",
    "Failure",
    "FailureReason",
    "Fault",
    "Finding",
    "Interval",
    "PytestOutcome",
    "ReportFacts",
    "ReportSource",
    "Severity",
    "StageName",
    "StageResult",
    "Verdict",
    "classify",
    "judge",
    "wilson_interval",
]

_HOMES = {
    "classify": "classification",
    "Failure": "classification",
    "Interval": "statistics",
    "wilson_interval": "statistics",
    "ExpectedTests": "expectation",
    "Verdict": "verdict",
    "judge": "verdict",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES.get(name, 'evidence')}")
    value: object = vars(home)[name]
    globals()[name] = value
    return value
