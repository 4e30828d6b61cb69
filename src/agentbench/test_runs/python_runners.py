"""pytest, unittest and Django's runtests.py, under agentbench's launcher and streaming reporter."""

import importlib.resources
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from agentbench.sandbox.interface import ReadOnlyMount, Sandbox
from agentbench.scoring.evidence import CommandResult, Ending, NodeId, ReportTrust
from agentbench.scoring.node_ids import name_in_file
from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs import parse, report_files
from agentbench.test_runs.python_files import PythonTestFiles, is_test_file
from agentbench.test_runs.runner import ProtectedFiles, RunRequest, TestRun

LAUNCHER_MOUNT = "agentbench_pytest"
JSON_REPORT_MOUNT = "pytest_jsonreport"

_FIXED_ENV: Mapping[str, str] = MappingProxyType(
    {
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "",
        "PYTEST_PLUGINS": "",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
)


def reporter_mounts() -> tuple[ReadOnlyMount, ...]:
    """The launcher and the reporters of all three."""
    json_report = importlib.resources.files("pytest_jsonreport")
    return (
        ReadOnlyMount(name=LAUNCHER_MOUNT, source=Path(__file__).parent / "mounted"),
        ReadOnlyMount(name=JSON_REPORT_MOUNT, source=Path(str(json_report))),
    )


class _PythonRunner:
    """What the three have in common: the launcher, the reports, and the protected files."""

    trust = ReportTrust.IN_PROCESS_STREAM
    env = _FIXED_ENV

    def __init__(self, command: TestCommand) -> None:
        self._command = command

    @property
    def name(self) -> str:
        return self._command.runner.value

    def mounts(self) -> tuple[ReadOnlyMount, ...]:
        return reporter_mounts()

    def check(self, request: RunRequest) -> None:
        for target in request.targets:
            if not target or target[0] in "-@" or "\x00" in target:
                raise ValueError(f"expected a path or a node id, found {target!r}")
        for expression in (request.keyword, request.markers):
            if expression is not None and (expression[:1] == "-" or "\x00" in expression):
                raise ValueError(f"expected an expression of names, found {expression!r}")
        if request.max_failures is not None and request.max_failures < 1:
            raise ValueError(f"expected max_failures of 1 or more, found {request.max_failures}")

    def read(
        self, sandbox: Sandbox, results: PurePosixPath, request: RunRequest, ended: CommandResult
    ) -> TestRun:
        is_lost = ended.ending is Ending.LOST
        files = parse.ReportFiles() if is_lost else report_files.read_report_files(sandbox, results)
        text = "\n".join(filter(None, (ended.stdout, ended.stderr)))
        session = parse.session_of(files, text, report_limit=request.report_limit)
        how = parse.PytestExit(
            ending=ended.ending, exit_code=ended.exit_code, collect_only=request.collect_only
        )
        return TestRun(
            command=ended,
            result=parse.result_of(session, how, text_output=text),
            trust=self.trust,
            node_ids=tuple(session.collected),
            recordings=files.recordings or "",
        )

    def name_in_source(self, node_id: NodeId) -> str:
        return name_in_file(node_id).partition("[")[0].rpartition("::")[2]

    def is_test_file(self, path: PurePosixPath) -> bool:
        return is_test_file(path)

    def protection(self, base: Iterable[PurePosixPath]) -> ProtectedFiles:
        return PythonTestFiles(base)

    def _launcher(self, sandbox: Sandbox, results: PurePosixPath) -> Iterator[str]:
        # -I and -B: neither the environment nor the project's byte-code affects imports
        yield from (self._command.interpreter, "-I", "-B")
        yield str(sandbox.mounted(LAUNCHER_MOUNT) / "agentbench_launch.py")
        yield from ("--results", str(results))


class PytestRunner(_PythonRunner):
    """pytest."""

    def arguments(
        self, sandbox: Sandbox, request: RunRequest, results: PurePosixPath
    ) -> Iterator[str]:
        yield from self._launcher(sandbox, results)
        yield from ("--jsonreport", str(sandbox.mounted(JSON_REPORT_MOUNT)))
        if self._command.as_module:
            yield "--as-module"
        if request.judged:
            yield "--judged"
        yield from (f"--target={target}" for target in request.targets)
        yield from ("--", "-o", "junit_family=xunit1")  # includes the file of each test
        yield from self._command.options
        if request.keyword is not None:
            yield from ("-k", request.keyword)
        if request.markers is not None:
            yield from ("-m", request.markers)
        if request.max_failures is not None:
            yield f"--maxfail={request.max_failures}"
        if request.last_failed:
            yield "--last-failed"
        if request.collect_only:
            yield from ("--collect-only", "-q")


class UnittestRunner(_PythonRunner):
    """unittest."""

    def check(self, request: RunRequest) -> None:
        super().check(request)
        if request.markers or request.last_failed:
            raise ValueError(
                f"markers and last_failed need pytest; these tests run under {self.name}"
            )

    def arguments(
        self, sandbox: Sandbox, request: RunRequest, results: PurePosixPath
    ) -> Iterator[str]:
        yield from self._launcher(sandbox, results)
        yield from ("--runner", self.name)
        if request.max_failures is not None:
            yield from ("--max-failures", str(request.max_failures))
        if request.collect_only:
            yield "--collect-only"
        yield from (f"--target={target}" for target in request.targets)
        yield from ("--", *self._command.options)
        if request.keyword is not None:
            yield from ("-k", request.keyword)


class DjangoRunner(UnittestRunner):
    """unittest, as Django's own runtests.py starts it."""

    def protection(self, base: Iterable[PurePosixPath]) -> ProtectedFiles:
        return PythonTestFiles(base, self._command.script_folder)

    def _launcher(self, sandbox: Sandbox, results: PurePosixPath) -> Iterator[str]:
        yield from super()._launcher(sandbox, results)
        yield from ("--script", self._command.script)
