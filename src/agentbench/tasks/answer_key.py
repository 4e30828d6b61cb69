"""The part of a task that judges an attempt: hidden tests, reference solution, expected tests."""

from typing import Literal

from agentbench.core.schema import Schema
from agentbench.scoring.evidence import NodeId
from agentbench.tasks.scripts import SolutionScript, Verifier


class AnswerKey(Schema):
    """The hidden tests, the reference solution, and the tests that must pass."""

    tests_patch: bytes = b""
    solution_patch: bytes = b""
    fail_to_pass: tuple[NodeId, ...] = ()
    pass_to_pass: tuple[NodeId, ...] | Literal["baseline"] = ()
    protected: tuple[str, ...] = ()
    quarantined: tuple[NodeId, ...] = ()
    verifier: Verifier | None = None  # judges in place of pytest
    solution: SolutionScript | None = None  # in place of the patch
