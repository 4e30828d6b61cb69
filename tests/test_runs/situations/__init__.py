"""What a runner of another language meets: projects, and what agentbench has to say of their runs.

Each module has the SITUATIONS of one runner. `e2e/test_external_matrix.py` runs them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentbench.scoring.evidence import PytestOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A project, a run of its tests, and the result that is right."""

    name: str
    files: Mapping[str, str]
    outcome: PytestOutcome
    tests: Mapping[str, str] = field(default_factory=dict)
    """The outcome of each test by its id. A test that is reported twice has both, with a comma."""

    exit_zero: bool | None = None  # None: it does not matter
    targets: tuple[str, ...] = ()
    command: str = ""  # empty: the usual one of the runner
    report: str = ""  # the pattern of the files that the command writes
    errors: tuple[str, ...] = ()  # FILE:LINE, or FILE
    messages: Mapping[str, str] = field(default_factory=dict)
    """A part of the message of some tests; of the whole run under the empty name."""

    listed: tuple[str, ...] = ()  # the ids of a run that only collects
    complete: bool | None = None  # None: it does not matter
    forged: bool = False  # whether the report shows that it was tampered with
    extra: Mapping[str, Any] = field(default_factory=dict)  # further arguments of RunRequest
    limits: tuple[float, ...] = ()
    """Seconds, shortest first, for a run that its time limit ends."""

    is_long: bool = False  # whether only the soak runs it
    newer: Mapping[str, Any] = field(default_factory=dict)
    """What newer versions of the tool do otherwise, by the names of the fields above."""
