"""The command that runs pytest in any sandbox with both reporters mounted."""

import importlib.resources
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Event
from types import MappingProxyType

from agentbench.sandbox.interface import Command, OutputSink, ReadOnlyMount, Sandbox
from agentbench.tasks.problem import PytestCommand

LAUNCHER_MOUNT = "agentbench_pytest"
JSON_REPORT_MOUNT = "pytest_jsonreport"

STREAM_FILE = "stream.jsonl"  # the launcher has this name and the next one, too
JSON_REPORT_FILE = "report.json"
JUNIT_FILE = "junit.xml"

_FIXED_ENV = {
    "PYTEST_ADDOPTS": "",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "",
    "PYTEST_PLUGINS": "",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def reporter_mounts() -> tuple[ReadOnlyMount, ...]:
    """The mounts that a sandbox needs for `pytest_command`."""
    json_report = importlib.resources.files("pytest_jsonreport")
    return (
        ReadOnlyMount(name=LAUNCHER_MOUNT, source=Path(__file__).parent / "mounted"),
        ReadOnlyMount(name=JSON_REPORT_MOUNT, source=Path(str(json_report))),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestRequest:
    """Which tests to run, and how.

    Raises:
        ValueError: pytest would take a target or an expression for an option or a file of them.
    """

    command: PytestCommand
    timeout: timedelta
    targets: tuple[str, ...] = ()  # files, folders or node ids; none: the project's configuration
    keyword: str | None = None
    markers: str | None = None
    max_failures: int | None = None
    last_failed: bool = False
    report_limit: int | None = None  # bytes; a larger JSON report is used, but not stored
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Refuse arguments that pytest would misread."""
        for target in self.targets:
            if not target or target[0] in "-@" or "\x00" in target:
                raise ValueError(f"expected a path or a node id, found {target!r}")
        for expression in (self.keyword, self.markers):
            if expression is not None and (expression[:1] == "-" or "\x00" in expression):
                raise ValueError(f"expected an expression of names, found {expression!r}")
        if self.max_failures is not None and self.max_failures < 1:
            raise ValueError(f"expected max_failures of 1 or more, found {self.max_failures}")


def pytest_command(
    sandbox: Sandbox,
    request: PytestRequest,
    results: PurePosixPath,
    *,
    collect_only: bool = False,
    sink: OutputSink | None = None,
    cancel: Event | None = None,
) -> Command:
    """The command for a sandbox with `reporter_mounts`; it creates the folder `results`."""
    pytest_args = [*_reports(results), *request.command.options, *_selection(request)]
    if collect_only:
        pytest_args += ["--collect-only", "-q"]
    return Command(
        argv=(*_launcher(sandbox, request, results), "--", *pytest_args, *request.targets),
        timeout=request.timeout,
        env=MappingProxyType({**_FIXED_ENV, **request.env}),
        sink=sink,
        cancel=cancel,
    )


def _launcher(sandbox: Sandbox, request: PytestRequest, results: PurePosixPath) -> Iterator[str]:
    # -I and -B: neither the environment nor the project's byte-code affects imports
    yield from (request.command.interpreter, "-I", "-B")
    yield str(sandbox.mounted(LAUNCHER_MOUNT) / "agentbench_launch.py")
    yield from ("--results", str(results))
    yield from ("--jsonreport", str(sandbox.mounted(JSON_REPORT_MOUNT)))
    if request.command.as_module:
        yield "--as-module"


def _reports(results: PurePosixPath) -> Iterator[str]:
    yield "-ra"  # not -rA, which repeats the output of every passed test
    yield f"--junitxml={results / JUNIT_FILE}"
    yield from ("-o", "junit_family=xunit1")  # includes the file of each test


def _selection(request: PytestRequest) -> Iterator[str]:
    if request.keyword is not None:
        yield from ("-k", request.keyword)
    if request.markers is not None:
        yield from ("-m", request.markers)
    if request.max_failures is not None:
        yield f"--maxfail={request.max_failures}"
    if request.last_failed:
        yield "--last-failed"
