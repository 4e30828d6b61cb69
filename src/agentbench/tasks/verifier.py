"""A task's own script as its judge, in place of pytest, and the script that solves the task."""

from typing import Final

from pydantic import Field

from agentbench.schema import Schema

VERIFIER_FOLDER: Final = "tests"
"""The verifier's files, in the task's folder; in a sandbox that judges they are at /tests."""

SOLUTION_FOLDER: Final = "solution"
"""The files of the reference solution; only the oracle's sandbox has them, at /solution."""


class Verifier(Schema):
    """How the script runs, and what its reward has to exceed."""

    command: str = "/tests/test.sh"
    timeout_s: float = 600.0
    threshold: float = 0.0
    env: dict[str, str] = Field(default_factory=dict)
    network: bool = False
    image: str | None = None  # its own; None: the task's
    dockerfile: str | None = None  # of its own image, relative to the task's folder
    takes: tuple[str, ...] | None = None  # of the work; None: all of it


class SolutionScript(Schema):
    """How the reference solution runs, where it is a script and no patch."""

    command: str = "/solution/solve.sh"
    env: dict[str, str] = Field(default_factory=dict)
