"""The failure taxonomy: why an attempt failed, as codes with a precedence.

Pure mappings, exactly the tables of `docs/failure_taxonomy.md`. Success is `None`.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

TIMEOUT_EXIT_CODES = frozenset({124, 137})
"""Those of GNU timeout, and of a process that SIGKILL ended."""


class StageName(StrEnum):
    """One stage of the pipeline."""

    GIT_CLONE = "git_clone"
    GIT_CHECKOUT = "git_checkout"
    SETUP = "setup"
    BASELINE_RUN = "baseline_run"
    AGENT_RUN = "agent_run"
    FINAL_TEST = "final_test"


AGENT_STAGES = frozenset({StageName.AGENT_RUN, StageName.FINAL_TEST})
"""The stages that run code of the agent, or that it wrote."""


class Fault(StrEnum):
    """The party to blame for a failure. Only infrastructure failures are retried."""

    TASK = "task"
    INFRASTRUCTURE = "infrastructure"
    AGENT = "agent"


class _Row(NamedTuple):
    fault: Fault
    description: str
    typical_cause: str
    rationale: str


class FailureReason(StrEnum):
    """Why an attempt failed; in the order of the taxonomy's first table."""

    SETUP_FAILED = "SETUP_FAILED"
    SETUP_TIMEOUT = "SETUP_TIMEOUT"
    BASELINE_NOT_FAILING = "BASELINE_NOT_FAILING"
    TIMEOUT = "TIMEOUT"
    SANDBOX_ERROR = "SANDBOX_ERROR"
    GIT_CLONE_FAILED = "GIT_CLONE_FAILED"
    GIT_CHECKOUT_FAILED = "GIT_CHECKOUT_FAILED"
    TOOL_ERROR = "TOOL_ERROR"
    TESTS_FAILED = "TESTS_FAILED"
    AGENT_GAVE_UP = "AGENT_GAVE_UP"
    LLM_ERROR = "LLM_ERROR"
    NO_TESTS_COLLECTED = "NO_TESTS_COLLECTED"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    INTERRUPTED = "INTERRUPTED"
    UNKNOWN = "UNKNOWN"

    @property
    def precedence(self) -> int:
        """From 1; the primary one of several reasons has the lowest number."""
        return _RANKS[self]

    @property
    def fault(self) -> Fault:
        """The party to blame, unless a stage's evidence names another one."""
        return _ROWS[self].fault

    @property
    def description(self) -> str:
        """A description in a few words."""
        return _ROWS[self].description

    @property
    def typical_cause(self) -> str:
        """The usual causes."""
        return _ROWS[self].typical_cause

    @property
    def rationale(self) -> str:
        """Why it has its position in the precedence."""
        return _ROWS[self].rationale

    @classmethod
    def from_pytest_exit_code(cls, code: int) -> "FailureReason | None":
        """The reason for one of pytest's exit codes; `None` for 0.

        Codes 0 to 5 are pytest's own, 124 is GNU timeout's, 137 is 128 + SIGKILL.

        >>> FailureReason.from_pytest_exit_code(1)
        <FailureReason.TESTS_FAILED: 'TESTS_FAILED'>
        """
        return None if code == 0 else _PYTEST_EXIT_CODES.get(code, cls.UNKNOWN)

    @classmethod
    def from_stage(
        cls, stage: str, exit_code: int, exception: BaseException | None = None
    ) -> "FailureReason | None":
        """The reason for a stage's exit code or exception; `None` if the stage did not fail.

        Exceptions come first, then the exit codes of timeouts (124, 137), then the stage.

        Raises:
            ValueError: there is no such stage.
            TypeError: the exit code is no number; its text would otherwise count as a failure.

        >>> FailureReason.from_stage("setup", 124)
        <FailureReason.SETUP_TIMEOUT: 'SETUP_TIMEOUT'>
        >>> FailureReason.from_stage("baseline_run", 1) is None
        True
        """
        name = _stage_name(stage)
        if exception is not None:
            return cls._from_exception(exception)
        if not isinstance(exit_code, int):
            found = type(exit_code).__name__
            raise TypeError(f"exit_code: expected an int, found {found}: {exit_code!r}")
        if exit_code in TIMEOUT_EXIT_CODES:
            return cls.SETUP_TIMEOUT if name is StageName.SETUP else cls.TIMEOUT
        if name is StageName.BASELINE_RUN:
            return cls.BASELINE_NOT_FAILING if exit_code == 0 else None
        if name in _STAGE_FAILURES:
            return _STAGE_FAILURES[name] if exit_code != 0 else None
        return cls.from_pytest_exit_code(exit_code)

    @classmethod
    def resolve(cls, reasons: Iterable["FailureReason"]) -> "FailureReason | None":
        """The primary one of several reasons; `None` when there are none.

        >>> FailureReason.resolve([FailureReason.TESTS_FAILED, FailureReason.TIMEOUT])
        <FailureReason.TIMEOUT: 'TIMEOUT'>
        """
        return min(reasons, key=lambda reason: reason.precedence, default=None)

    @classmethod
    def _from_exception(cls, exception: BaseException) -> "FailureReason":
        if isinstance(exception, KeyboardInterrupt):
            return cls.INTERRUPTED
        declared = getattr(exception, "failure_reason", None)
        if isinstance(declared, str) and declared in cls.__members__:
            return cls(declared)
        # By the module's name, so that scoring does not import docker.
        modules = (base.__module__.partition(".")[0] for base in type(exception).__mro__)
        return cls.SANDBOX_ERROR if "docker" in modules else cls.UNKNOWN


def _stage_name(stage: str) -> StageName:
    try:
        return StageName(stage)
    except ValueError:
        known = ", ".join(StageName)
        raise ValueError(f"{stage!r} is not a stage; expected one of {known}") from None


_PYTEST_EXIT_CODES = {
    1: FailureReason.TESTS_FAILED,
    2: FailureReason.INTERRUPTED,
    3: FailureReason.INTERNAL_ERROR,
    4: FailureReason.INTERNAL_ERROR,
    5: FailureReason.NO_TESTS_COLLECTED,
    124: FailureReason.TIMEOUT,
    137: FailureReason.TIMEOUT,
}

_STAGE_FAILURES = {
    StageName.GIT_CLONE: FailureReason.GIT_CLONE_FAILED,
    StageName.GIT_CHECKOUT: FailureReason.GIT_CHECKOUT_FAILED,
    StageName.SETUP: FailureReason.SETUP_FAILED,
}

_PRECEDENCE = (  # the primary reason first
    FailureReason.GIT_CLONE_FAILED,
    FailureReason.GIT_CHECKOUT_FAILED,
    FailureReason.SETUP_TIMEOUT,
    FailureReason.SETUP_FAILED,
    FailureReason.BASELINE_NOT_FAILING,
    FailureReason.SANDBOX_ERROR,
    FailureReason.LLM_ERROR,
    FailureReason.TOOL_ERROR,
    FailureReason.TIMEOUT,
    FailureReason.AGENT_GAVE_UP,
    FailureReason.TESTS_FAILED,
    FailureReason.NO_TESTS_COLLECTED,
    FailureReason.INTERNAL_ERROR,
    FailureReason.INTERRUPTED,
    FailureReason.UNKNOWN,
)
_RANKS = {reason: number for number, reason in enumerate(_PRECEDENCE, start=1)}
_TASK, _INFRASTRUCTURE, _AGENT = Fault

_ROWS = {
    FailureReason.SETUP_FAILED: _Row(
        _TASK,
        "Setup command failed",
        "Missing dependency, broken pip install",
        "Dependencies broken",
    ),
    FailureReason.SETUP_TIMEOUT: _Row(
        _TASK, "Setup exceeded timeout", "Slow network, large dependencies", "Setup never completed"
    ),
    FailureReason.BASELINE_NOT_FAILING: _Row(
        _TASK, "Tests pass before fix", "Invalid task (already fixed)", "Task is invalid"
    ),
    FailureReason.TIMEOUT: _Row(
        _AGENT, "Run command exceeded timeout", "Infinite loop, slow tests", "Ran out of time"
    ),
    FailureReason.SANDBOX_ERROR: _Row(
        _INFRASTRUCTURE,
        "Docker/container failure",
        "Docker daemon down, OOM",
        "Execution environment broken",
    ),
    FailureReason.GIT_CLONE_FAILED: _Row(
        _TASK, "Could not clone repo", "Bad URL, network failure", "Can't even get the code"
    ),
    FailureReason.GIT_CHECKOUT_FAILED: _Row(
        _TASK, "Could not checkout commit", "Invalid commit SHA", "Can't get correct version"
    ),
    FailureReason.TOOL_ERROR: _Row(
        _AGENT, "Agent tool call failed", "Invalid patch, path escape", "Agent's tool calls fail"
    ),
    FailureReason.TESTS_FAILED: _Row(
        _AGENT, "Tests fail after agent", "Agent didn't fix the bug", "Agent tried but didn't fix"
    ),
    FailureReason.AGENT_GAVE_UP: _Row(
        _AGENT, "Agent hit step limit", "Complex bug, bad strategy", "Budget exhausted"
    ),
    FailureReason.LLM_ERROR: _Row(
        _INFRASTRUCTURE, "LLM API failure", "Rate limit, invalid key", "Can't get agent responses"
    ),
    FailureReason.NO_TESTS_COLLECTED: _Row(
        _AGENT,
        "pytest found no tests",
        "Wrong test path, missing tests",
        "Testing infrastructure issue",
    ),
    FailureReason.INTERNAL_ERROR: _Row(
        _AGENT, "pytest internal error", "Broken conftest, import error", "pytest internal failure"
    ),
    FailureReason.INTERRUPTED: _Row(
        _INFRASTRUCTURE, "User cancelled", "Ctrl+C", "User cancellation"
    ),
    FailureReason.UNKNOWN: _Row(
        _INFRASTRUCTURE, "Unexpected error", "Uncaught exception", "Catch-all"
    ),
}
