"""A pytest plugin that writes down what happens while it happens, one JSON line each.

Survives whatever ends the process: the test that was running is the one that began and did not end.
Standard library and pytest only; pytest 4.6 to 9, Python 3.6 to 3.14. Under xdist only the
controller has this plugin.
"""

import os
import sys
import time
from traceback import extract_tb, format_exception
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import ModuleType
    from typing import Any

    from agentbench.test_runs.mounted.agentbench_launch import ChangeDetector, RecordStream

_IDS_A_LINE = 2000
# What a project's options may set to end a run early, to reorder its tests, or to wait for input.
# Each is set by its own name: no command line has a word for "do not", except for `--maxfail=0`.
_RUNS_EVERY_TEST = {
    "maxfail": 0, "stepwise": False, "stepwise_skip": False, "lf": False, "failedfirst": False,
    "newfirst": False, "usepdb": False, "trace": False, "looponfail": False,
    "randomly_reorganize": False,
}  # fmt: skip

WATCHED_FUNCTIONS = (
    ("_pytest.main", ("Session.perform_collect", "pytest_runtestloop", "wrap_session")),
    ("_pytest.python", ("Function.runtest", "pytest_pyfunc_call")),
    ("_pytest.reports", ("BaseReport.failed", "BaseReport.passed", "BaseReport.skipped")),
    ("_pytest.reports", ("TestReport.__init__", "TestReport.from_item_and_call")),
    ("_pytest.runner", ("CallInfo.__init__", "CallInfo.from_call", "call_and_report")),
    ("_pytest.runner", ("call_runtest_hook", "check_interactive_exception", "runtestprotocol")),
    ("_pytest.runner", ("pytest_runtest_call", "pytest_runtest_makereport")),
    ("_pytest.runner", ("pytest_runtest_protocol", "pytest_runtest_setup")),
    ("_pytest.runner", ("pytest_runtest_teardown",)),
    ("_pytest.skipping", ("pytest_runtest_makereport",)),
    ("_pytest.unittest", ("TestCaseFunction.runtest",)),
    ("pluggy", ("PluginManager._hookexec",)),
    ("pluggy._callers", ("_multicall",)),
    ("pluggy._execution", ("_multicall",)),
    ("pluggy._hooks", ("HookCaller.__call__", "_HookCaller.__call__")),
    ("pluggy._manager", ("_multicall",)),
    ("pluggy.callers", ("_multicall",)),
    ("pluggy.hooks", ("_HookCaller.__call__",)),
)


class Reporter:
    """Hooks of one session; registers pytest-json-report beside itself."""

    def __init__(
        self,
        stream: "RecordStream",
        json_report: "ModuleType",
        results: str,
        detector: "ChangeDetector",
        *,
        runs_every_test: bool,
    ) -> None:
        self._put = stream.put
        self._begin_recordings = sys.modules["agentbench_recorder"].begin
        self._json_report = json_report
        self._results = results
        self._runs_every_test = runs_every_test
        self._rootdir = self._workspace = os.path.realpath(".")
        self._clock = time.perf_counter
        self._started = self._clock()
        self._detect_changes = detector.detect
        self._deselected = 0

    def pytest_plugin_registered(
        self, plugin: object, manager: "pytest.PytestPluginManager"
    ) -> None:
        """Register pytest-json-report under its entry point's name, so that no second one loads."""
        if plugin is self:
            manager.register(self._json_report, "pytest_jsonreport")

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: "pytest.Config") -> None:
        """Ask for the reports here: workers of xdist, without the plugin, get all arguments.

        A project that switches off a plugin has none of its options either, so that an argument
        for it would end pytest.
        """
        option = config.option
        option.json_report = True
        option.json_report_file = f"{self._results}/report.json"
        option.json_report_verbosity = -1  # keeps its path out of the text
        option.xmlpath = f"{self._results}/junit.xml"
        option.tbstyle = getattr(option, "tbstyle", "auto")  # pytest-json-report reads it
        if "A" not in (getattr(option, "reportchars", None) or ""):  # SWE-bench's tool reads "-rA"
            option.reportchars = "a"  # all but the output of every passed test
        if self._runs_every_test:
            for name, value in _RUNS_EVERY_TEST.items():
                if hasattr(option, name):
                    setattr(option, name, value)
        rootdir = getattr(config, "rootpath", None) or getattr(config, "rootdir")  # noqa: B009
        self._rootdir = os.path.realpath(str(rootdir))

    @pytest.hookimpl(trylast=True)
    def pytest_report_teststatus(self, report: "pytest.TestReport") -> "tuple[str, str, str]":
        """Answer pytest-json-report if the project has switched off the plugin that does."""
        return str(report.outcome), "", ""

    def _id(self, node_id: object) -> str:
        # Relative to the working folder, where pytest and the host find its file. pytest's own is
        # relative to its rootdir: a part of the project with an ini file of its own.
        text = str(node_id)
        if self._rootdir == self._workspace or not text:
            return text
        file, colons, name = text.partition("::")
        return os.path.relpath(f"{self._rootdir}/{file}", self._workspace) + colons + name

    @pytest.hookimpl(optionalhook=True)
    def pytest_json_modifyreport(self, json_report: "Any") -> None:
        """Give the JSON report the same ids as the stream."""
        for part in ("tests", "collectors"):
            for entry in json_report.get(part, ()):
                for one in (entry, *(entry.get("result") or ())):
                    one["nodeid"] = self._id(one["nodeid"])

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self) -> "Generator[None, Any, None]":
        """Record a conftest that cannot be imported, or that ends pytest: no collector reports it.

        pytest exits 4 if it cannot be imported, and with the code of the conftest's own `sys.exit`.
        """
        outcome = yield
        error: Any = outcome.excinfo[1] if outcome.excinfo else None
        if type(error).__name__ == "ConftestImportFailure":
            cause = getattr(error, "cause", None) or error.excinfo[1]
            file = os.path.relpath(str(error.path))
        elif isinstance(error, (SystemExit, pytest.exit.Exception)):
            cause, frames = error, extract_tb(error.__traceback__)
            file = os.path.relpath(frames[-1].filename)
        else:
            return
        message = f"{type(cause).__name__}: {cause}"
        text = "".join(format_exception(type(cause), cause, cause.__traceback__))
        self._put("collect_error", file=file, message=message, traceback=text)

    def pytest_collectreport(self, report: "pytest.CollectReport") -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            where = "" if crash is None else f"{crash.path}:{crash.lineno}: "
            self._put("collect_error", file=self._id(report.nodeid), where=where, **_texts(report))
        elif report.skipped:
            self._put("collect_skip", file=self._id(report.nodeid), **_texts(report))

    def pytest_deselected(self, items: "list[pytest.Item]") -> None:
        """Count what -k, -m or a plugin took out."""
        self._deselected += len(items)

    def pytest_collection_finish(self, session: "pytest.Session") -> None:
        self._collected([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: "list[str]") -> None:
        """Record what will run; every worker collects the same."""
        self._collected(list(ids))

    def _collected(self, ids: "list[str]") -> None:
        for start in range(0, len(ids), _IDS_A_LINE):
            self._put("collected", ids=[self._id(i) for i in ids[start : start + _IDS_A_LINE]])
        self._put("collection_finish", deselected=self._deselected)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._begin_recordings(self._id(nodeid))
        self._put("begin", id=self._id(nodeid))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: "pytest.TestReport") -> None:
        if report.when == "call":  # a fixture's patch is in place then, and once a test is enough
            self._detect_changes()
        fields = {} if report.outcome == "passed" else _texts(report)
        if hasattr(report, "wasxfail"):
            fields["xfail"] = str(report.wasxfail)
        self._put(
            "subtest" if type(report).__name__.lower() == "subtestreport" else "phase",
            id=self._id(report.nodeid),
            when=str(report.when),
            outcome=str(report.outcome),
            duration=float(getattr(report, "duration", 0.0)),
            **fields,
        )

    def pytest_internalerror(self, excrepr: object) -> None:
        self._detect_changes()
        self._put("internal_error", message=str(excrepr))

    def pytest_keyboard_interrupt(self, excinfo: "pytest.ExceptionInfo[BaseException]") -> None:
        """Record KeyboardInterrupt and pytest.exit."""
        self._put("interrupt", message=excinfo.exconly())

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: "pytest.Session") -> "Generator[None, Any, None]":
        """Record the end of the session, after every other plugin had its say on the exit code."""
        yield
        self._detect_changes()
        duration = self._clock() - self._started
        self._put("finish", exit=int(session.exitstatus), duration=duration)


def _texts(report: "pytest.CollectReport | pytest.TestReport") -> "dict[str, str]":
    longrepr = report.longrepr
    if isinstance(longrepr, tuple) and len(longrepr) == 3:
        reason = str(longrepr[2])
        reason = reason[len("Skipped: ") :] if reason.startswith("Skipped: ") else reason
        return {"message": reason}
    crash = getattr(longrepr, "reprcrash", None)
    text = str(longrepr or "")
    message = getattr(crash, "message", None)
    if not message:
        # A traceback without a crash entry, such as of a collection error.
        lines = [line for line in text.splitlines() if line.strip()]
        marked = [line[1:].strip() for line in lines if line.startswith("E ")]
        message = (marked or [line.strip() for line in lines] or [""])[-1]
    return {"message": str(message), "traceback": text}
