"""Runs unittest, or Django's runtests.py, and writes down what happens, one JSON line each.

It wraps the result that a text runner makes and the context in which a test case runs its parts, so
no version of Django is special. The records are those of the pytest reporter. Standard library
only; Python 3.6 to 3.14.
"""

import contextlib
import os
import runpy
import sys
import time
import unittest
import unittest.case
import unittest.loader
import unittest.runner
import unittest.suite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from agentbench.test_runs.mounted import agentbench_unittest_loading as loading
    from agentbench.test_runs.mounted.agentbench_launch import RecordStream
else:
    import agentbench_unittest_loading as loading

__unittest = True  # hides the frames of this file from the tracebacks that unittest prints
_IDS_A_LINE = 2000
_SETUP, _CALL, _TEARDOWN = "setup", "call", "teardown"
_PASSED, _SKIPPED, _FAILED = "passed", "skipped", "failed"
_NOTHING = {"outcome": _PASSED}  # the report of a part that said nothing
_INTERRUPTED, _INTERNAL, _USAGE, _NO_TESTS = 2, 3, 4, 5  # exit codes of pytest

_RESULT_METHODS = (
    "addError", "addExpectedFailure", "addFailure", "addSkip", "addSubTest", "addSuccess",
    "addUnexpectedSuccess", "startTest", "stopTest",
)  # fmt: skip
_ASSERTIONS = (
    "_baseAssertEqual", "_getAssertEqualityFunc", "assertEqual", "assertFalse", "assertIn",
    "assertIs", "assertIsNone", "assertNotEqual", "assertRaises", "assertRaisesRegex", "assertTrue",
    "assertMultiLineEqual", "assertSequenceEqual", "assertDictEqual", "assertCountEqual", "fail",
    "failureException",
)  # fmt: skip
_STEPS = (
    "__call__", "_callCleanup", "_callSetUp", "_callTearDown", "_callTestMethod", "doCleanups",
    "run", "subTest",
)  # fmt: skip
WATCHED_FUNCTIONS = (
    ("unittest.case", tuple("TestCase." + name for name in (*_STEPS, *_ASSERTIONS))),
    ("unittest.case", ("_AssertRaisesContext.__exit__", "_Outcome.__init__")),
    ("unittest.case", ("_Outcome.testPartExecutor", "_ShouldStop", "SkipTest")),
    ("unittest.result", tuple("TestResult." + name for name in _RESULT_METHODS)),
    ("unittest.result", ("TestResult.wasSuccessful",)),
    ("unittest.runner", tuple("TextTestResult." + name for name in _RESULT_METHODS)),
    ("unittest.runner", ("TextTestRunner._makeResult", "TextTestRunner.run")),
    ("unittest.suite", ("BaseTestSuite.__call__", "BaseTestSuite.__iter__", "TestSuite.run")),
    ("unittest.suite", ("TestSuite._handleClassSetUp", "TestSuite._handleModuleFixture")),
    ("unittest.loader", ("TestLoader.getTestCaseNames", "TestLoader.loadTestsFromModule")),
    ("unittest.loader", ("TestLoader.loadTestsFromTestCase",)),
)


class _RunningTest:
    """What is known of a test between its start and its stop."""

    def __init__(self, test: "Any", node_id: str, now: float) -> None:
        self.test, self.node_id, self.started = test, node_id, now
        self.entered = []  # type: list[str]  # the parts that its TestCase.run has run
        self.raised = {}  # type: dict[str, BaseException]  # by part, the first exception
        self.part_of = {}  # type: dict[int, str]  # by the exception's identity
        self.reports = {}  # type: dict[str, dict[str, object]]  # by part, the worst report
        self.succeeded = False

    def report(self, part: str, outcome: str, **fields: object) -> None:
        # A failure outranks what a part reported before.
        if part not in self.reports or outcome == _FAILED != self.reports[part]["outcome"]:
            self.reports[part] = dict(fields, outcome=outcome)

    def part_of_error(self, error: "BaseException | None") -> str:
        # A test case with a `run` of its own has no parts.
        return self.part_of.get(id(error), _CALL)

    def next_part(self) -> str:
        if not self.entered:
            return _SETUP
        return _CALL if self.entered == [_SETUP] and not self.raised else _TEARDOWN

    def check(self) -> None:
        # The result may not be told of an exception: a failure that the project hides is one, too.
        for part, error in self.raised.items():
            expected = self.reports.get(part, {}).get("outcome") == _SKIPPED
            if not (expected or isinstance(error, (KeyboardInterrupt, unittest.SkipTest))):
                self.report(part, _FAILED, **loading.texts_of(error))
        if _CALL not in self.reports and _CALL in self.entered and _CALL not in self.raised:
            self.reports[_CALL] = {"outcome": _PASSED}
        if self.succeeded and (_CALL in self.entered or not self.entered):
            self.reports.setdefault(_CALL, {"outcome": _PASSED})


class Reporter:
    """Runs the tests once, and reports them to a stream."""

    def __init__(self, stream: "RecordStream", *, max_failures: int, collect_only: bool) -> None:
        self._put = stream.put
        self._begin_recordings = sys.modules["agentbench_recorder"].begin
        self.detect_changes = lambda: None  # type: Callable[[], None]
        self._max_failures, self._collect_only = max_failures, collect_only
        self._clock, self._began = time.perf_counter, time.perf_counter()
        self._root = os.path.realpath(os.getcwd())
        self._tests = {}  # type: dict[int, tuple[str, str]]  # name and node id by identity
        self._seen = {}  # type: dict[str, int]  # how many tests have a name
        self._node_ids = {}  # type: dict[str, list[str]]  # by class and by module
        self._last = {}  # type: dict[str, str]  # the last test that ran, by class and by module
        self._current = None  # type: _RunningTest | None
        self._latest = None  # type: _RunningTest | None
        self._in_run = self._has_run = self._was_cut_off = False
        self._failures = self._errors = self._count = 0
        self._wrap_unittest()

    def run_unittest(self, options: "list[str]", loader: unittest.TestLoader) -> int:
        """Run `python -m unittest` with the tests of a loader."""
        argv = [sys.executable + " -m unittest", *options]
        run = unittest.main
        return self._guard(".", lambda: run(None, argv=argv, testLoader=loader, exit=False))

    def run_script(self, script: str, options: "list[str]", targets: "list[str]") -> int:
        """Run Django's script with the labels of some files."""
        folder = os.path.dirname(script)
        labels = [
            label for label in (loading.label_of(target, folder) for target in targets) if label
        ]
        sys.argv[1:] = [*options, *dict.fromkeys(labels)]
        return self._guard(script, lambda: runpy.run_path(script, run_name="__main__"))

    def collect_error(self, file: str, error: BaseException) -> None:
        """Record a file that cannot be imported, or a run that cannot start."""
        self._errors += 1
        self._put("collect_error", file=file, **loading.texts_of(error))

    def collect_skip(self, file: str, reason: str) -> None:
        self._put("collect_skip", file=file, message=reason)

    def _guard(self, file: str, run: "Callable[[], object]") -> int:
        code = 0
        try:
            run()
        except KeyboardInterrupt as error:
            self._put("interrupt", message=loading.texts_of(error)["message"])
            code = _INTERRUPTED
        except SystemExit as error:
            # Before the tests, only a wrong option may end a script.
            if self._has_run and not self._was_cut_off:
                code = 1 if error.code else 0
            elif error.code == 2 and loading.was_raised_in("argparse", error):
                code = _USAGE
            else:
                code = self._code_of_error(file, error)
        except Exception as error:  # noqa: BLE001 - the project's code may raise anything
            sys.excepthook(type(error), error, error.__traceback__)
            code = self._code_of_error(file, error)
        if code == 0 and (self._failures or self._errors):
            code = 1
        if code == 0 and not self._count:
            code = _NO_TESTS
        self.detect_changes()
        self._put("finish", exit=code, duration=self._clock() - self._began)
        return code

    def _code_of_error(self, file: str, error: BaseException) -> int:
        if self._has_run:
            self._put("internal_error", message=loading.texts_of(error)["traceback"])
            return _INTERNAL
        self.collect_error(file, error)
        return 1

    def _wrap_unittest(self) -> None:
        reporter = self
        outcomes = vars(unittest.case)["_Outcome"]
        run, executor = unittest.TextTestRunner.run, outcomes.testPartExecutor

        def watched_run(runner: "Any", test: "Any") -> "Any":
            # Only the outermost run is reported: tests of a test tool run suites of their own.
            if reporter._in_run:
                return run(runner, test)
            return reporter._run_suite(runner, test, run)

        @contextlib.contextmanager
        def watched_executor(outcome: "Any", case: "Any", *args: "Any", **kw: "Any") -> "Any":
            with executor(outcome, case, *args, **kw), reporter._part(case):
                yield

        vars_of_runner = unittest.TextTestRunner  # type: Any
        vars_of_runner.run = watched_run
        outcomes.testPartExecutor = watched_executor

    def _run_suite(self, runner: "Any", suite: "Any", run: "Callable[..., Any]") -> "Any":
        self._collect(suite)
        make_result = runner._makeResult
        if self._collect_only:
            self._has_run = True
            return make_result()
        # A judged run goes on after a failure.
        runner.failfast = False
        runner._makeResult = lambda: self._wrapped(make_result())
        self._in_run = self._has_run = self._was_cut_off = True
        try:
            result = run(runner, suite)
            self._was_cut_off = False
        finally:
            self._in_run = False
            del runner._makeResult
        return result

    def _collect(self, suite: "Any") -> None:
        tests = []
        for test in loading.flat(suite):
            kind = type(test).__name__ if type(test).__module__ == "unittest.loader" else ""
            if kind == loading.FAILED_IMPORT:
                self._errors += 1
                text = str(getattr(test, "_exception", ""))
                lines = [line for line in text.splitlines() if line.strip()]
                file = loading.file_of_module(test._testMethodName)
                message = (lines or [""])[-1]
                self._put("collect_error", file=file, message=message, traceback=text)
            elif kind == loading.SKIPPED_MODULE:
                reason = getattr(type(test), "__unittest_skip_why__", "")
                method = getattr(test, test._testMethodName)
                reason = reason or getattr(method, "__unittest_skip_why__", "")
                self._count += 1
                self.collect_skip(loading.file_of_module(test._testMethodName), str(reason))
            else:
                tests.append(test)
        for start in range(0, len(tests), _IDS_A_LINE):
            self._put_collected(tests[start : start + _IDS_A_LINE])
        self._count += len(tests)
        self._put("collection_finish", deselected=0)

    def _put_collected(self, tests: "list[Any]") -> None:
        names = [loading.names_of(test) for test in tests]
        self._put("collected", ids=[self._identify(test) for test in tests], names=names)

    def _identify(self, test: "Any") -> str:
        # The same id each time, and a number if another test has it.
        name = loading.node_id_of(test, self._root)
        known = self._tests.get(id(test))
        if known is not None and known[0] == name:
            return known[1]
        count = self._seen[name] = self._seen.get(name, 0) + 1
        node_id = name if count == 1 else f"{name}[{count}]"
        self._tests[id(test)] = name, node_id
        for group in loading.groups_of(test):
            self._node_ids.setdefault(group, []).append(node_id)
        return node_id

    def _wrapped(self, result: "Any") -> "Any":
        # Its methods report first, then do what they did.
        def watched(name: str, original: "Callable[..., object]") -> "Callable[..., object]":
            report = getattr(self, "_" + name)

            def method(*args: "Any", **kwargs: "Any") -> object:
                report(*args, **kwargs)
                if self._max_failures and self._failures >= self._max_failures:
                    result.stop()
                return original(*args, **kwargs)

            return method

        for name in _RESULT_METHODS:
            original = getattr(result, name, None)
            if original is not None:
                setattr(result, name, watched(name, original))
        return result

    @contextlib.contextmanager
    def _part(self, case: object) -> "Iterator[None]":
        # Parts of subtests and of other test cases do not count.
        running = self._current
        if running is None or running.test is not case:
            yield
            return
        part = running.next_part()
        running.entered.append(part)
        try:
            yield
        except BaseException as error:
            if type(error).__name__ != "_ShouldStop":  # a subtest failed, and has said so
                running.raised.setdefault(part, error)
                running.part_of[id(error)] = part
            raise

    def _startTest(self, test: "Any") -> None:
        if loading.is_substitute(test):
            return
        if id(test) not in self._tests:  # the suite made it while it ran
            self._put_collected([test])
        self._current = _RunningTest(test, self._identify(test), self._clock())
        self._begin_recordings(self._current.node_id)
        self._put("begin", id=self._current.node_id)

    def _stopTest(self, test: "Any") -> None:
        running, self._current = self._current, None
        if running is None:
            return
        self._latest = running
        for group in loading.groups_of(test):
            self._last[group] = running.node_id
        running.check()
        duration = self._clock() - running.started
        reports = running.reports
        self._phase(running.node_id, _SETUP, 0.0, reports.get(_SETUP))
        if _CALL in reports and reports.get(_SETUP, _NOTHING)["outcome"] == _PASSED:
            self._phase(running.node_id, _CALL, duration, reports[_CALL])
        self._phase(running.node_id, _TEARDOWN, 0.0, reports.get(_TEARDOWN))
        self.detect_changes()

    def _phase(
        self, node_id: str, part: str, duration: float, report: "dict[str, Any] | None"
    ) -> None:
        report = report or _NOTHING
        self._failures += report["outcome"] == _FAILED
        self._put("phase", id=node_id, when=part, duration=duration, **report)

    def _addSuccess(self, _test: "Any") -> None:
        if self._current is not None:
            self._current.succeeded = True

    def _addError(self, test: "Any", err: "Any") -> None:
        running = self._current
        if loading.is_substitute(test):
            return
        if running is not None:
            running.report(running.part_of_error(err[1]), _FAILED, **loading.texts_of(err[1]))
        elif not isinstance(test, unittest.TestCase):
            self._fixture(str(test), dict(loading.texts_of(err[1]), outcome=_FAILED))
        elif self._latest is not None and self._latest.test is test:  # Django's _post_teardown
            report = dict(loading.texts_of(err[1]), outcome=_FAILED)
            self._phase(self._latest.node_id, _TEARDOWN, 0.0, report)
        else:  # Django's _pre_setup
            self._unstarted(self._identify(test), dict(loading.texts_of(err[1]), outcome=_FAILED))

    _addFailure = _addError

    def _addSkip(self, test: "Any", reason: str) -> None:
        running = self._current
        message = str(reason)
        if running is not None and test is running.test:
            raised = [p for p, e in running.raised.items() if isinstance(e, unittest.SkipTest)]
            part = (raised or running.entered[-1:] or [_SETUP])[0]
            running.report(part, _SKIPPED, message=message)
        elif running is None and not loading.is_substitute(test):
            report = {"outcome": _SKIPPED, "message": message}
            if isinstance(test, unittest.TestCase):  # Python 3.12.1 does not start it
                self._unstarted(self._identify(test), report)
            else:
                self._fixture(str(test), report)

    def _addExpectedFailure(self, _test: "Any", err: "Any") -> None:
        if self._current is not None:
            message = loading.texts_of(err[1])["message"]
            self._current.report(_CALL, _SKIPPED, message=message, xfail=message)

    def _addUnexpectedSuccess(self, _test: "Any") -> None:
        if self._current is not None:
            self._current.report(_CALL, _FAILED, message="Unexpected success")

    def _addSubTest(self, _test: "Any", subtest: "Any", err: "Any") -> None:
        running = self._current
        if running is None or err is None:
            return
        texts = loading.texts_of(err[1])
        texts["message"] = "{} {}".format(loading.subtest_name(subtest), texts["message"])
        self._put("subtest", id=running.node_id, when=_CALL, outcome=_FAILED, duration=0.0, **texts)
        running.report(_CALL, _FAILED, message="a subtest failed")

    def _fixture(self, description: str, report: "dict[str, Any]") -> None:
        # A fixture of a class or module belongs to its tests, its end to the last of them.
        name, _, group = description.rstrip(")").partition(" (")
        if name.startswith("tearDown") and group in self._last:
            self._phase(self._last[group], _TEARDOWN, 0.0, report)
            return
        for node_id in self._node_ids.get(group, ()):
            self._unstarted(node_id, report)
        if group not in self._node_ids and report["outcome"] == _FAILED:
            self._failures += 1

    def _unstarted(self, node_id: str, report: "dict[str, Any]") -> None:
        self._put("begin", id=node_id)
        self._phase(node_id, _SETUP, 0.0, report)
        self._phase(node_id, _TEARDOWN, 0.0, None)
