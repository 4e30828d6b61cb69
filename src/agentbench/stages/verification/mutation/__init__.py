"""Blind controls: tests that expect something else than they should, and do not show it.

It reads and writes text only. See docs/integrity.md for what it is good for.
"""

from agentbench.stages.verification.mutation.engine import (
    expected_values,
    functions_by_tests,
    mutate,
)
from agentbench.stages.verification.mutation.halves import Halves, halves
from agentbench.stages.verification.mutation.record import (
    ChangedValue,
    ControlledFunction,
    KnownValue,
    Mutation,
    WeaklyControlled,
)

__all__ = [
    "ChangedValue",
    "ControlledFunction",
    "Halves",
    "KnownValue",
    "Mutation",
    "WeaklyControlled",
    "expected_values",
    "functions_by_tests",
    "halves",
    "mutate",
]
