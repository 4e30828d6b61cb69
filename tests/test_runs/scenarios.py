"""Small projects that end in every way a pytest run can end, and what each has to be told as."""

from dataclasses import dataclass, field

from agentbench.scoring.evidence import PytestOutcome
from tests.test_runs.interpreters import NEWEST, PYTEST_VERSIONS


@dataclass(frozen=True)
class Scenario:
    name: str
    files: dict
    outcome: PytestOutcome
    tests: dict  # node id -> outcome, of every test that began
    exit_code: int | None
    complete: bool = True
    targets: tuple = ()
    options: str = ""
    errors: tuple = ()  # files that could not be collected
    collected: int | None = None
    messages: dict = field(default_factory=dict)  # node id -> a part of its message
    versions: tuple = PYTEST_VERSIONS
    limits: tuple = (60,)  # seconds for a run; a longer list repeats one that did not end
    extra: dict = field(default_factory=dict)  # more arguments of the request


TWO = "def test_a(): pass\ndef test_b(): pass\n"
DYING = (
    "import os, signal, ctypes, pytest\ndef test_a(): pass\ndef test_b(): {}\ndef test_c(): pass\n"
)
A, B, C = "test_m.py::test_a", "test_m.py::test_b", "test_m.py::test_c"
CUT_OFF = {A: "passed", B: "unfinished"}

EVERYTHING = """
import unittest
import pytest

def test_passes(): pass

def test_fails():
    assert 1 == 2, "one is not two"

@pytest.mark.skip(reason="not today (really), 'quoted'")
def test_skipped(): pass

def test_skips_itself():
    pytest.skip("halfway")

@pytest.mark.xfail(reason="known")
def test_xfails(): assert 0

@pytest.mark.xfail(reason="gone?")
def test_xpasses(): pass

@pytest.mark.xfail(strict=True, reason="strictly")
def test_strict(): pass

@pytest.mark.xfail(run=False, reason="never run")
def test_not_run(): assert 0

@pytest.fixture
def broken(): raise ValueError("broken set-up")

def test_setup_error(broken): pass

@pytest.fixture
def leaky():
    yield
    raise ValueError("broken teardown")

def test_teardown_error(leaky): pass

def test_fails_twice(leaky): assert 0, "the call"

class TestGroup:
    @pytest.fixture(scope="class")
    def shared(self): return []

    @pytest.mark.parametrize("value", ["a::b", "c d", "\\xe9", "x - y", "[]", "new\\nline"])
    def test_odd(self, value, shared): pass

class TestOld(unittest.TestCase):
    def test_subtests(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1, "one it is")

    @unittest.skip("unittest says so")
    def test_skip(self): pass

    @unittest.expectedFailure
    def test_expected(self): self.fail()
"""
EVERY = "test_every.py::"
ODD = EVERY + "TestGroup::test_odd"

SCENARIOS = [
    Scenario(
        "every outcome of a test",
        {"test_every.py": EVERYTHING},
        PytestOutcome.FAILED,
        {
            EVERY + "test_passes": "passed",
            EVERY + "test_fails": "failed",
            EVERY + "test_skipped": "skipped",
            EVERY + "test_skips_itself": "skipped",
            EVERY + "test_xfails": "xfailed",
            EVERY + "test_xpasses": "xpassed",
            EVERY + "test_strict": "failed",
            EVERY + "test_not_run": "xfailed",
            EVERY + "test_setup_error": "error",
            EVERY + "test_teardown_error": "error",
            EVERY + "test_fails_twice": "failed",
            ODD + "[a::b]": "passed",
            ODD + "[c d]": "passed",
            ODD + "[\\xe9]": "passed",
            ODD + "[x - y]": "passed",
            ODD + "[[]]": "passed",
            ODD + "[new\\nline]": "passed",
            EVERY + "TestOld::test_subtests": "failed",
            EVERY + "TestOld::test_skip": "skipped",
            EVERY + "TestOld::test_expected": "xfailed",
        },
        1,
        collected=20,
        messages={
            EVERY + "test_fails": "AssertionError: one is not two",
            EVERY + "test_skipped": "not today (really), 'quoted'",
            EVERY + "test_skips_itself": "halfway",
            EVERY + "test_xfails": "known",
            EVERY + "test_strict": "[XPASS(strict)] strictly",
            EVERY + "test_setup_error": "ValueError: broken set-up",
            EVERY + "test_teardown_error": "ValueError: broken teardown",
            EVERY + "test_fails_twice": "AssertionError: the call",
            EVERY + "TestOld::test_subtests": "one it is",
            EVERY + "TestOld::test_skip": "unittest says so",
        },
    ),
    Scenario(
        "all pass",
        {"test_m.py": TWO},
        PytestOutcome.PASSED,
        {A: "passed", B: "passed"},
        0,
        collected=2,
    ),
    Scenario(
        "all pass under xdist",
        {"test_m.py": TWO},
        PytestOutcome.PASSED,
        {A: "passed", B: "passed"},
        0,
        collected=2,
        options="-n 1",
    ),
    Scenario(
        "a file that cannot be imported",
        {"test_m.py": TWO, "test_bad.py": "import nope_nope"},
        PytestOutcome.COLLECTION_ERROR,
        {},
        2,
        targets=("test_bad.py", "test_m.py"),
        errors=("test_bad.py",),
    ),
    Scenario(
        "a node id in a file that cannot be imported",
        {"test_bad.py": "import nope_nope"},
        PytestOutcome.COLLECTION_ERROR,
        {},
        4,
        targets=("test_bad.py::test_x",),
        errors=("test_bad.py",),
    ),
    Scenario(
        "a file that cannot be imported under xdist",
        {"test_bad.py": "import nope_nope"},
        PytestOutcome.COLLECTION_ERROR,
        {},
        1,
        targets=("test_bad.py",),
        options="-n 1",
        errors=("test_bad.py",),
    ),
    Scenario(
        "a conftest that cannot be imported",
        {"conftest.py": "import nope_nope", "test_m.py": TWO},
        PytestOutcome.COLLECTION_ERROR,
        {},
        4,
        complete=False,
        errors=("conftest.py",),
    ),
    Scenario(
        "stopping at the first failure",
        {"test_m.py": "def test_a(): pass\ndef test_b(): assert 0\ndef test_c(): pass\n"},
        PytestOutcome.FAILED,
        {A: "passed", B: "failed"},
        1,
        collected=3,
        extra={"max_failures": 1},
    ),
    Scenario(
        "tests deselected by keyword",
        {"test_m.py": TWO},
        PytestOutcome.PASSED,
        {A: "passed"},
        0,
        collected=1,
        extra={"keyword": "test_a"},
    ),
    Scenario(
        "KeyboardInterrupt in a test",
        {"test_m.py": DYING.format("raise KeyboardInterrupt")},
        PytestOutcome.INTERRUPTED,
        CUT_OFF,
        2,
        collected=3,
    ),
    Scenario(
        "pytest.exit with success",
        {"test_m.py": DYING.format("pytest.exit('so long', returncode=0)")},
        PytestOutcome.UNVERIFIED,
        CUT_OFF,
        0,
        collected=3,
    ),
    Scenario(
        "pytest.exit between two tests",
        {
            "test_m.py": TWO,
            "conftest.py": (
                "import pytest\ndef pytest_runtest_logfinish(nodeid):\n"
                "    pytest.exit('so long', returncode=0)\n"
            ),
        },
        PytestOutcome.UNVERIFIED,
        {A: "passed"},
        0,
        collected=2,
    ),
    Scenario(
        "an option that does not exist",
        {"test_m.py": TWO},
        PytestOutcome.USAGE,
        {},
        4,
        complete=False,
        options="--no-such-option",
    ),
    Scenario(
        "a node id that does not exist",
        {"test_m.py": TWO},
        PytestOutcome.USAGE,
        {},
        4,
        targets=("test_m.py::test_z",),
    ),
    Scenario("no tests", {"test_m.py": "x = 1"}, PytestOutcome.NO_TESTS, {}, 5, collected=0),
    Scenario(
        "a module skipped as a whole",
        {"test_m.py": "import pytest\npytest.skip('all of it', allow_module_level=True)"},
        PytestOutcome.NO_TESTS,
        {"test_m.py": "skipped"},
        5,
        messages={"test_m.py": "all of it"},
    ),
    Scenario(
        "a hook that crashes",
        {"test_m.py": TWO, "conftest.py": "def pytest_runtest_protocol(item): 1 / 0"},
        PytestOutcome.PYTEST_INTERNAL,
        {},
        3,
        collected=2,
    ),
    Scenario(
        "the same test twice",
        {"test_m.py": TWO},
        PytestOutcome.PASSED,
        {A: "passed", B: "passed"},
        0,
        targets=("test_m.py", "test_m.py"),
        options="--keep-duplicates",
        collected=2,
    ),
    Scenario(
        "os._exit with success",
        {"test_m.py": DYING.format("os._exit(0)")},
        PytestOutcome.UNVERIFIED,
        CUT_OFF,
        0,
        complete=False,
        collected=3,
    ),
    Scenario(
        "os._exit with failure",
        {"test_m.py": DYING.format("os._exit(1)")},
        PytestOutcome.UNVERIFIED,
        CUT_OFF,
        1,
        complete=False,
        versions=(NEWEST,),
    ),
    Scenario(
        "os._exit with success while all passed so far",
        {
            "test_m.py": TWO,
            "conftest.py": (
                "import os, pytest\n@pytest.hookimpl(tryfirst=True)\n"
                "def pytest_sessionfinish(): os._exit(0)"
            ),
        },
        PytestOutcome.UNVERIFIED,
        {A: "passed", B: "passed"},
        0,
        complete=False,
        versions=(NEWEST,),
    ),
    Scenario(
        "an exit code that contradicts the session",
        {"test_m.py": "import atexit, os\natexit.register(os._exit, 0)\ndef test_a(): assert 0"},
        PytestOutcome.UNVERIFIED,
        {A: "failed"},
        0,
        versions=(NEWEST,),
    ),
    Scenario(
        "a segmentation fault",
        {"test_m.py": DYING.format("ctypes.string_at(0)")},
        PytestOutcome.CRASH,
        CUT_OFF,
        None,
        complete=False,
        versions=(NEWEST,),
    ),
    Scenario(
        "SIGKILL",
        {"test_m.py": DYING.format("os.kill(os.getpid(), signal.SIGKILL)")},
        PytestOutcome.CRASH,
        CUT_OFF,
        None,
        complete=False,
        versions=(NEWEST,),
    ),
    Scenario(
        "a worker of xdist that dies",
        {"test_m.py": DYING.format("os.kill(os.getpid(), signal.SIGKILL)")},
        PytestOutcome.FAILED,
        {A: "passed", B: "failed", C: "passed"},
        1,
        versions=(NEWEST,),
        options="-n 1",
        messages={B: "crashed while running"},
        limits=(60, 60, 60),  # rarely, the run does not end: see tests/FLAKY.md
    ),
    Scenario(
        "a test out of memory",
        {
            "test_m.py": (
                "import resource\ndef test_a():\n"
                "    resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))\n"
                "    bytearray(1 << 30)\n"
            )
        },
        PytestOutcome.FAILED,
        {A: "failed"},
        1,
        versions=(NEWEST,),
        messages={A: "MemoryError"},
    ),
    Scenario(
        "a strange exit code",
        {"test_m.py": DYING.format("os._exit(42)")},
        PytestOutcome.CRASH,
        CUT_OFF,
        42,
        complete=False,
        versions=(NEWEST,),
    ),
]
