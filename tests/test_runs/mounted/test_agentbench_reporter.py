"""The reporter notices when the functions it relies on are replaced."""

from datetime import timedelta

import pytest

from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.patience import HANGS_OF_XDIST, with_growing_limit
from tests.test_runs.interpreters import NEWEST, PYTEST_VERSIONS, requirements


@pytest.fixture
def run_in(open_sandbox):
    def run_in_(source, version=NEWEST, options=()):
        sandbox = open_sandbox({"test_m.py": source}, *requirements(version))
        command = TestCommand(as_module=True, options=("-p", "no:cacheprovider", *options))
        return execute_tests(
            sandbox, RunRequest(runner=runner_of(command), timeout=timedelta(minutes=10))
        )

    return run_in_


@pytest.mark.parametrize("version", PYTEST_VERSIONS)
def test_a_replaced_function_is_named(run_in, version):
    cheat = """
import _pytest.runner as runner
kept = runner.CallInfo.from_call.__func__
@classmethod
def lenient(cls, function, *args, **kwargs):
    def swallow():
        try: function()
        except AssertionError: pass
    return kept(cls, swallow, *args, **kwargs)
runner.CallInfo.from_call = lenient
def test_a(): assert 0
"""
    run = run_in(cheat, version)
    assert run.result.outcome == "passed"
    assert run.facts.internals_changed == ("_pytest.runner.CallInfo.from_call",)


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        (
            "runner.runtestprotocol.__code__ = (lambda item, log=True, nextitem=None: []).__code__",
            "_pytest.runner.runtestprotocol",
        ),
        (
            "runner.CallInfo = type('CallInfo', (runner.CallInfo,), {})",
            "_pytest.runner.CallInfo.from_call",
        ),
        (
            "reports.TestReport.__init__ = lambda *a, **k: None",
            "_pytest.reports.TestReport.__init__",
        ),
        ("pluggy._manager._multicall = lambda *a, **k: []", "pluggy._manager._multicall"),
    ],
)
def test_code_classes_and_hook_callers_are_watched_too(run_in, statement, name):
    imports = "import pluggy\nfrom _pytest import reports, runner\n"
    undo = "kept = dict(vars(runner))\n"
    source = f"{imports}{undo}def test_a():\n    {statement}\ndef test_b(): pass\n"
    assert name in run_in(source).facts.internals_changed


def test_temporary_patch_is_detected(run_in):
    source = """
from _pytest import runner
kept = runner.check_interactive_exception
def test_a(): runner.check_interactive_exception = lambda call, report: False
def test_b(): runner.check_interactive_exception = kept
"""
    changed = run_in(source).facts.internals_changed
    assert changed == ("_pytest.runner.check_interactive_exception",)


def test_long_texts_are_cut_in_their_middle(run_in):
    source = "def test_a(): raise ValueError('<' + 'x' * 10**6 + '>')"
    (case,) = run_in(source).result.tests
    assert "characters left out" in case.message
    assert len(case.message) < 50_000


def test_the_stream_holds_text_that_no_encoding_knows(run_in):
    source = "def test_a(): raise ValueError('\\ud800 \\x00 \\x1b[31m')"
    (case,) = run_in(source).result.tests
    assert case.message == "ValueError: ? \x00 \x1b[31m"


def test_warnings_as_errors_do_not_hit_the_reporters(run_in):
    assert run_in("def test_a(): pass", options=("-W", "error")).result.outcome == "passed"


def test_installed_reporter_of_the_project_does_not_interfere(open_sandbox):
    sandbox = open_sandbox(
        {"test_m.py": "def test_a(json_metadata): pass"},
        *requirements(NEWEST),
        "pytest-json-report==1.5.0",
    )
    options = ("-p", "no:cacheprovider", "--json-report", "--json-report-file=mine.json")
    for workers in ((), ("-n", "1")):
        command = TestCommand(as_module=True, options=(*options, *workers))
        result = with_growing_limit(
            lambda seconds, command=command: (
                execute_tests(
                    sandbox,
                    RunRequest(runner=runner_of(command), timeout=timedelta(seconds=seconds)),
                ).result
            ),
            lambda result: result.outcome != "timeout",
            limits=HANGS_OF_XDIST,
        )
        assert result.outcome == "passed", result.text_output
        assert result.json_report["exitcode"] == 0
