"""A test runner: what agentbench knows of a program that runs a project's tests.

`python_runners.py` has pytest, unittest and Django's; `runner_of` there chooses one by a task's
command, which `tasks.test_command` reads. Control runs rewrite Python alone: tests in another
language are weakly controlled.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Protocol

from agentbench.sandbox.interface import ReadOnlyMount, Sandbox
from agentbench.scoring.evidence import CommandResult, NodeId, ReportFacts, ReportTrust
from agentbench.test_runs import parse
from agentbench.test_runs.model import PytestResult


class TestRunner(Protocol):
    """A program that runs tests, with a task's command for it."""

    @property
    def trust(self) -> ReportTrust:
        """The trust that its reports deserve; `scoring.trust` says what that is."""

    @property
    def env(self) -> Mapping[str, str]:
        """Environment variables of its runs, before those of the task."""

    def mounts(self) -> tuple[ReadOnlyMount, ...]:
        """What a sandbox needs for it."""

    def check(self, request: "RunRequest") -> None:
        """Refuse arguments that it would misread or does not have.

        Raises:
            ValueError: says what was expected and found.
        """

    def arguments(
        self, sandbox: Sandbox, request: "RunRequest", results: PurePosixPath
    ) -> Iterator[str]:
        """The program and its arguments, for a sandbox with its mounts.

        Args:
            sandbox: The sandbox.
            request: The tests to run.
            results: The folder for its reports, which does not exist yet.
        """

    def read(
        self, sandbox: Sandbox, results: PurePosixPath, request: "RunRequest", ended: CommandResult
    ) -> "TestRun":
        """Read the reports of a run that has ended; a missing one is no error.

        The ids of its tests have the form of `scoring.node_ids`. The result is complete if the
        report says that the run ended; its source is one that `scoring.trust` takes as evidence.

        Raises:
            SandboxError: the sandbox is lost.
        """

    def name_in_source(self, node_id: NodeId) -> str:
        """The part of a test's id that stands in its file, by which the file is found."""

    def is_test_file(self, path: PurePosixPath) -> bool:
        """Whether a file has the name of a test."""

    def protection(self, base: Iterable[PurePosixPath]) -> "ProtectedFiles":
        """The files that steer it, in a project with these files at its base commit."""


BaseContent = Callable[[PurePosixPath], bytes | None]
"""The content of a file at the base commit; None: it was not there."""


class Protected(NamedTuple):
    """Why a change to a file is not judged."""

    why: str
    tampers: bool  # whether it could have made tests pass; an accident cannot


class ProtectedFiles(Protocol):
    """The files of a project that steer its tests, so that an agent's versions are not judged."""

    def why(self, path: PurePosixPath) -> Protected | None:
        """Why a file with this path is never taken from an agent; None if it may be."""

    def judged(
        self, path: PurePosixPath, base: BaseContent, after: bytes | None
    ) -> tuple[bytes | None, Protected] | None:
        """The judged content of a file that steers the tests in a part only.

        Args:
            path: The file.
            base: Reads files at the base commit.
            after: Its content in the agent's change; None: the agent removed it.

        Returns:
            What is judged instead, or None for the base's version, and why; None if the agent's
            version is judged as it is.
        """

    def fault_in(self, path: PurePosixPath, content: bytes) -> str | None:
        """Why the tools of the project cannot read a file that configures them, too."""

    def configures(self, path: PurePosixPath) -> bool:
        """Whether a file configures the tests, so that also a new one among them tampers."""

    def is_test(self, path: PurePosixPath) -> bool:
        """Whether a file has the name of a test, where the whole project is a folder of tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The tests to run, and how; raises ValueError if the runner would misread an argument."""

    runner: TestRunner
    timeout: timedelta
    targets: tuple[str, ...] = ()  # files, folders or node ids; none: the project's configuration
    keyword: str | None = None
    markers: str | None = None
    max_failures: int | None = None
    last_failed: bool = False
    collect_only: bool = False
    judged: bool = False
    """Whether every test runs, in the runner's own order, whatever the project's options say."""
    report_limit: int | None = None  # bytes; a larger JSON report is used, but not stored
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Refuse arguments that the runner would misread."""
        self.runner.check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """One run of tests: its process, its result, and the tests that it collected."""

    __test__: ClassVar[bool] = False  # pytest takes classes by their names

    command: CommandResult
    result: PytestResult
    trust: ReportTrust  # of the runner
    node_ids: tuple[NodeId, ...] = ()
    recordings: str = ""  # of sealed tests; untrusted lines of JSON
    failed_before: bool = False  # whether the process is a command before the tests that failed

    @property
    def facts(self) -> ReportFacts:
        """The part of the result that a verdict needs; computed on each call."""
        return parse.facts_of(self.result, self.trust)
