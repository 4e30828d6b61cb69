"""Real runs of unittest under several versions of Python, each told as what it was."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from agentbench.scoring.evidence import PytestOutcome, ReportSource
from agentbench.tasks.test_command import parse_test_command
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.test_runs.interpreters import find_python

PYTHONS = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
IN_THE_GATE = {"3.6", "3.8", "3.11", "3.13"}

EVERYTHING = """
import sys, unittest

class Base(unittest.TestCase):
    def test_inherited(self): pass

class Outcomes(Base):
    def test_passes(self): "Says what it does\\n\\nin two parts."
    def test_fails(self): self.assertEqual(1, 2, "one is not two")
    def test_raises(self): raise ValueError("a value")
    def test_exits(self): sys.exit(0)
    @unittest.skip("not today")
    def test_skipped(self): pass
    def test_skips_itself(self): self.skipTest("halfway")
    @unittest.expectedFailure
    def test_expected(self): self.fail("known")
    @unittest.expectedFailure
    def test_unexpected(self): pass
    def test_subtests(self):
        for number in range(4):
            with self.subTest(number=number):
                self.assertNotEqual(number % 2, 1, "odd")
    def test_good_subtests(self):
        with self.subTest("one"): pass
        with self.subTest("two"): self.skipTest("not this one")
    class Inner(unittest.TestCase):
        def test_inner(self): pass
Inner = Outcomes.Inner

class BrokenSetUp(unittest.TestCase):
    def setUp(self): raise ValueError("broken set-up")
    def test_x(self): pass
class SkippedSetUp(unittest.TestCase):
    def setUp(self): self.skipTest("no display")
    def test_x(self): pass
class BrokenTearDown(unittest.TestCase):
    def tearDown(self): raise ValueError("broken tear-down")
    def test_x(self): pass
    def test_y(self): self.fail("the call")
class BrokenCleanup(unittest.TestCase):
    def test_x(self): self.addCleanup(self.fail, "broken clean-up")
class CleanupAfterSetUp(unittest.TestCase):
    def setUp(self):
        self.addCleanup(lambda: None)
        raise ValueError("broken set-up")
    def test_x(self): pass
class BrokenClass(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise ValueError("broken class")
    def test_x(self): pass
    def test_y(self): pass
class BrokenClassEnd(unittest.TestCase):
    @classmethod
    def tearDownClass(cls): raise ValueError("broken end")
    def test_x(self): pass
    def test_y(self): pass
class SkippedInClass(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise unittest.SkipTest("no server")
    def test_x(self): pass
@unittest.skip("the whole class")
class SkippedClass(unittest.TestCase):
    def test_x(self): pass
"""
EVERY = "test_every.py::"
OUTCOMES = EVERY + "Outcomes::"


@dataclass(frozen=True)
class Scenario:
    name: str
    files: dict
    outcome: PytestOutcome
    tests: dict
    exit_code: int | None
    complete: bool = True
    command: str = "python -m unittest"
    targets: tuple = ()
    errors: tuple = ()
    messages: dict = field(default_factory=dict)
    extra: dict = field(default_factory=dict)
    least: str = "3.6"


def case(body, more=""):
    return f"import os, sys, unittest\n{more}\nclass T(unittest.TestCase):\n{body}"


TWO = "    def test_a(self): pass\n    def test_b(self): {}\n    def test_c(self): pass\n"
A, B, C = (f"test_m.py::T::test_{letter}" for letter in "abc")
GOOD = case("    def test_a(self): pass\n")

SCENARIOS = [
    Scenario(
        "every outcome of a test",
        {"test_every.py": EVERYTHING},
        PytestOutcome.FAILED,
        {
            EVERY + "Base::test_inherited": "passed",
            OUTCOMES + "test_inherited": "passed",
            OUTCOMES + "test_passes": "passed",
            OUTCOMES + "test_fails": "failed",
            OUTCOMES + "test_raises": "failed",
            OUTCOMES + "test_exits": "failed",
            OUTCOMES + "test_skipped": "skipped",
            OUTCOMES + "test_skips_itself": "skipped",
            OUTCOMES + "test_expected": "xfailed",
            OUTCOMES + "test_unexpected": "failed",
            OUTCOMES + "test_subtests": "failed",
            OUTCOMES + "test_good_subtests": "passed",
            OUTCOMES + "Inner::test_inner": "passed",
            EVERY + "BrokenSetUp::test_x": "error",
            EVERY + "SkippedSetUp::test_x": "skipped",
            EVERY + "BrokenTearDown::test_x": "error",
            EVERY + "BrokenTearDown::test_y": "failed",
            EVERY + "BrokenCleanup::test_x": "error",
            EVERY + "CleanupAfterSetUp::test_x": "error",
            EVERY + "BrokenClass::test_x": "error",
            EVERY + "BrokenClass::test_y": "error",
            EVERY + "BrokenClassEnd::test_x": "passed",
            EVERY + "BrokenClassEnd::test_y": "error",
            EVERY + "SkippedInClass::test_x": "skipped",
            EVERY + "SkippedClass::test_x": "skipped",
        },
        1,
        messages={
            OUTCOMES + "test_fails": "AssertionError: 1 != 2 : one is not two",
            OUTCOMES + "test_raises": "ValueError: a value",
            OUTCOMES + "test_exits": "SystemExit: 0",
            OUTCOMES + "test_skipped": "not today",
            OUTCOMES + "test_skips_itself": "halfway",
            OUTCOMES + "test_expected": "AssertionError: known",
            OUTCOMES + "test_unexpected": "Unexpected success",
            OUTCOMES + "test_subtests": "(number=1) AssertionError: 1 == 1 : odd",
            EVERY + "BrokenSetUp::test_x": "ValueError: broken set-up",
            EVERY + "SkippedSetUp::test_x": "no display",
            EVERY + "BrokenTearDown::test_x": "ValueError: broken tear-down",
            EVERY + "BrokenTearDown::test_y": "AssertionError: the call",
            EVERY + "BrokenCleanup::test_x": "AssertionError: broken clean-up",
            EVERY + "CleanupAfterSetUp::test_x": "ValueError: broken set-up",
            EVERY + "BrokenClass::test_x": "ValueError: broken class",
            EVERY + "BrokenClassEnd::test_y": "ValueError: broken end",
            EVERY + "SkippedInClass::test_x": "no server",
            EVERY + "SkippedClass::test_x": "the whole class",
        },
    ),
    Scenario("all pass", {"test_m.py": GOOD}, PytestOutcome.PASSED, {A: "passed"}, 0),
    Scenario(
        "a module's set-up fails",
        {"test_m.py": case(TWO.format("pass"), "def setUpModule(): raise ValueError('module')")},
        PytestOutcome.FAILED,
        dict.fromkeys((A, B, C), "error"),
        1,
        messages={A: "ValueError: module"},
    ),
    Scenario(
        "a module's tear-down fails",
        {"test_m.py": case(TWO.format("pass"), "def tearDownModule(): raise ValueError('module')")},
        PytestOutcome.FAILED,
        {A: "passed", B: "passed", C: "error"},
        1,
        messages={C: "ValueError: module"},
    ),
    Scenario(
        "asynchronous tests",
        {
            "test_m.py": "import unittest\nclass T(unittest.IsolatedAsyncioTestCase):\n"
            "    async def asyncSetUp(self): self.x = 1\n"
            "    async def test_a(self): self.assertEqual(self.x, 1)\n"
            "    async def test_b(self): self.assertEqual(self.x, 2)\n"
            "class U(unittest.IsolatedAsyncioTestCase):\n"
            "    async def asyncSetUp(self): raise ValueError\n"
            "    async def test_a(self): pass\n"
        },
        PytestOutcome.FAILED,
        {A: "passed", B: "failed", "test_m.py::U::test_a": "error"},
        1,
        least="3.8",
    ),
    Scenario(
        "a module that cannot be imported, beside a good one",
        {"test_m.py": GOOD, "test_n.py": "import nothing_like_it\n"},
        PytestOutcome.COLLECTION_ERROR,
        {A: "passed"},
        1,
        errors=("test_n.py",),
    ),
    Scenario(
        "a target of invalid syntax",
        {"tests/test_n.py": "def broken(:\n"},
        PytestOutcome.COLLECTION_ERROR,
        {},
        1,
        targets=("tests/test_n.py",),
        errors=("tests/test_n.py",),
    ),
    Scenario(
        "a module that exits",
        {"test_m.py": "import sys\nsys.exit(0)\n"},
        PytestOutcome.COLLECTION_ERROR,
        {},
        1,
        targets=("test_m.py",),
        errors=("test_m.py",),
    ),
    Scenario(
        "a module that skips itself",
        {"test_m.py": GOOD, "test_n.py": "import unittest\nraise unittest.SkipTest('no gpu')\n"},
        PytestOutcome.PASSED,
        {A: "passed", "test_n.py": "skipped"},
        0,
        messages={"test_n.py": "no gpu"},
    ),
    Scenario(
        "os._exit with success",
        {"test_m.py": case(TWO.format("os._exit(0)"))},
        PytestOutcome.UNVERIFIED,
        {A: "passed", B: "unfinished"},
        0,
        complete=False,
    ),
    Scenario(
        "a signal",
        {"test_m.py": case(TWO.format("os.kill(os.getpid(), 11)"))},
        PytestOutcome.CRASH,
        {A: "passed", B: "unfinished"},
        None,
        complete=False,
    ),
    Scenario(
        "an interrupt",
        {"test_m.py": case(TWO.format("raise KeyboardInterrupt('enough')"))},
        PytestOutcome.INTERRUPTED,
        {A: "passed", B: "unfinished"},
        2,
    ),
    Scenario("no tests", {"a.py": ""}, PytestOutcome.NO_TESTS, {}, 5),
    Scenario(
        "an option that does not exist",
        {"test_m.py": GOOD},
        PytestOutcome.USAGE,
        {},
        4,
        command="python -m unittest --no-such-option",
    ),
    Scenario(
        "a class that two modules load",
        {"test_m.py": GOOD, "test_n.py": "from test_m import T\n"},
        PytestOutcome.PASSED,
        {A: "passed", A + "[2]": "passed"},
        0,
    ),
    Scenario(
        "files and folders in place of discovery",
        {
            "tests/__init__.py": "",
            "tests/test_m.py": GOOD,
            "tests/check_n.py": "from tests.test_m import T as B\n" + GOOD,
            "other/helper.py": "x = 1\n",
            "other/test_m.py": "import helper\n" + GOOD,
            "test_not_asked.py": GOOD,
        },
        PytestOutcome.PASSED,
        {
            "tests/test_m.py::T::test_a": "passed",
            "tests/test_m.py::T::test_a[2]": "passed",
            "tests/check_n.py::T::test_a": "passed",
            "other/test_m.py::T::test_a": "passed",
        },
        0,
        targets=("tests", "other/test_m.py", "tests/check_n.py"),
    ),
    Scenario(
        "a node id",
        {"tests/test_m.py": case(TWO.format("self.fail()"))},
        PytestOutcome.PASSED,
        {"tests/test_m.py::T::test_c": "passed"},
        0,
        command="python -m unittest discover -s tests",
        targets=("tests/test_m.py::T::test_c",),
    ),
    Scenario(
        "a start folder that the command names",
        {"tests/helper.py": "", "tests/test_m.py": "import helper\n" + GOOD},
        PytestOutcome.PASSED,
        {"tests/test_m.py::T::test_a": "passed"},
        0,
        command="python -m unittest discover -v -s tests -p 'test_*.py'",
        targets=("tests",),
    ),
    Scenario(
        "a failure that the command stops at does not end a judged run",
        {"test_m.py": case(TWO.format("self.fail()"))},
        PytestOutcome.FAILED,
        {A: "passed", B: "failed", C: "passed"},
        1,
        command="python -m unittest --failfast",
    ),
    Scenario(
        "stopping at the first failure",
        {"test_m.py": case(TWO.format("self.fail()"))},
        PytestOutcome.FAILED,
        {A: "passed", B: "failed"},
        1,
        extra={"max_failures": 1},
    ),
    Scenario(
        "collecting only",
        {"test_m.py": case(TWO.format("self.fail()"))},
        PytestOutcome.PASSED,
        {},
        0,
        extra={"collect_only": True},
    ),
    Scenario(
        "tests that run tests",
        {
            "test_m.py": case(
                "    def test_a(self):\n"
                "        class Inner(unittest.TestCase):\n"
                "            def test_x(self): self.fail()\n"
                "        suite = unittest.defaultTestLoader.loadTestsFromTestCase(Inner)\n"
                "        result = unittest.TextTestRunner().run(suite)\n"
                "        self.assertEqual(len(result.failures), 1)\n"
            )
        },
        PytestOutcome.PASSED,
        {A: "passed"},
        0,
    ),
]


def _version(python):
    return tuple(map(int, python.split(".")))


@pytest.mark.parametrize(
    ("scenario", "python"),
    [
        pytest.param(
            scenario,
            python,
            marks=() if python in IN_THE_GATE else pytest.mark.soak,
            id=f"{scenario.name}-{python}",
        )
        for scenario in SCENARIOS
        for python in PYTHONS
        if _version(python) >= _version(scenario.least)
    ],
)
def test_outcome_of_each_scenario_is_reported(open_sandbox, scenario, python):
    if find_python(python) is None:
        pytest.skip(f"no Python {python} on this machine")
    sandbox = open_sandbox(scenario.files, python=python)
    request = RunRequest(
        runner=runner_of(parse_test_command(scenario.command)),
        targets=scenario.targets,
        timeout=timedelta(minutes=2),
        **scenario.extra,
    )
    run = execute_tests(sandbox, request)
    result = run.result

    assert {test.node_id: test.outcome for test in result.tests} == scenario.tests, (
        result.text_output
    )
    assert result.outcome is scenario.outcome, result.text_output
    assert result.exit_code == scenario.exit_code
    assert result.complete is scenario.complete
    assert result.source is ReportSource.STREAM
    assert result.versions.python.startswith(python + ".")
    assert tuple(error.file for error in result.collection_errors) == scenario.errors
    for node_id, part in scenario.messages.items():
        (found,) = [test for test in result.tests if test.node_id == node_id]
        assert part in found.message
    assert run.facts.internals_changed == ()
    for test in result.tests:
        assert test.outcome != "passed" or test.phases == (1, 1, 1)
