"""The recorder, under several versions of Python, of pytest and of unittest."""

import sys
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.integrity.sealing.canonical import Leaf, read_recordings, value_text
from agentbench.tasks.test_command import TestCommand, parse_test_command
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.integrity.sealing.recorded import record
from tests.test_runs.interpreters import NEWEST, PYTEST_VERSIONS, find_python, requirements

PYTHONS = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
TEST = "test_m.py::test_a"
PROGRAM = """
import collections, datetime, decimal, enum, fractions, pathlib, re, types, uuid, warnings, zlib
from unittest import mock

class Own:
    def __init__(self): self.size = 2
    def __str__(self): return "own"
class Color(enum.IntFlag):
    RED = 1
Pair = collections.namedtuple("Pair", "left right")

recorder.value(1, 6, "x\\ud800", [1.5, {"a": (None, b"x")}])
recorder.value(2, datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc),
    decimal.Decimal("1.5"), fractions.Fraction(1, 3), uuid.UUID(int=5), pathlib.Path("a"),
    re.compile("x"), collections.OrderedDict(a=1), collections.deque([1]), collections.Counter("a"),
    collections.UserList([1]), types.SimpleNamespace(a=1), Color.RED, Pair(1, 2), Own(),
    mock.call(1), range(3), ..., int, zlib.error("x"), datetime.timedelta(1),
    datetime.date(2020, 1, 2))
with recorder.raises(3) as caught:
    {}["key"]
assert caught.exception is caught.value and caught.type is KeyError and caught.tb is not None
assert caught.typename == "KeyError" and caught.match("anything")
assert caught.exconly() == "KeyError: 'key'"
assert recorder.raises(4, int, "x").type is ValueError
with recorder.raises(4):
    sys.exit(3)
try:
    with recorder.raises(5):
        pass
except AssertionError as error:
    assert str(error) == "nothing was raised"
else:
    raise SystemExit("went on")
try:
    with recorder.raises(6):
        raise GeneratorExit
except GeneratorExit:
    pass
def deprecated(number):
    warnings.warn("old", DeprecationWarning)
    return number
with recorder.warns(7) as caught:
    deprecated(1)
assert len(caught) == 1 and caught[0].category is DeprecationWarning and list(caught) == caught.list
assert str(caught.warning) == "old" and caught.lineno and caught.filename
assert caught.pop(DeprecationWarning) and not caught.warnings
assert recorder.warns(7, deprecated, 5) == 5
try:
    recorder.warns(8, int)
except AssertionError:
    pass
token = recorder.token(9)
assert repr(token) == "token" and token != recorder.token(9) and hash(token)
recorder.value(9, token)
"""
COUNTS = """
import unittest
class Test(unittest.TestCase):
    def runTest(self):
        wanted = recorder.count(1)
        self.assertEqual(3, wanted, "%d queries executed, %d expected" % (3, wanted))
        self.assertEqual(4, recorder.count(2))
        assert not (recorder.count(3) != 5)
Test().debug()
"""


@pytest.mark.parametrize("version", PYTHONS)
def test_values_exceptions_and_warnings_are_recorded(version, tmp_path):
    python = find_python(version)
    if python is None:
        pytest.skip(f"this machine has no Python {version}")
    found = record(PROGRAM, python, tmp_path)
    recordings = found[TEST]
    assert [recording.site for recording in recordings] == [1, 2, 3, 4, 4, 5, 7, 7, 8, 9]
    first, second, *_ = recordings
    assert [value_text(value) for value in first.values] == [
        "6", "'x\\ud800'", "[1.5, {'a': (None, b'x')}]",
    ]  # fmt: skip
    assert "<unreadable>" not in [value_text(value) for value in second.values]
    assert [value_text(each.raised) for each in recordings[2:5]] == [
        """KeyError("'key'")""",
        """ValueError("invalid literal for int() with base 10: 'x'")""",
        "SystemExit('3')",
    ]
    assert recordings[5].raised is None
    assert [value_text(warning) for warning in recordings[6].warned] == [
        "DeprecationWarning('old')"
    ]
    assert recordings[8].warned == ()
    assert value_text(recordings[9].values[0]) == "token(9)"


@pytest.mark.parametrize("version", PYTHONS)
def test_numbers_that_an_expected_count_is_compared_with_are_recorded(version, tmp_path):
    python = find_python(version)
    if python is None:
        pytest.skip(f"this machine has no Python {version}")
    (recordings,) = record(COUNTS, python, tmp_path).values()
    assert [(each.site, each.values) for each in recordings] == [
        (1, (Leaf("int", 3),)),
        (2, (Leaf("int", 4),)),
        (3, (Leaf("int", 5),)),
    ]


def test_a_fork_records_nothing_and_the_limit_of_a_file_holds(tmp_path):
    program = """
    import os, threading
    child = os.fork()
    recorder.value(1, "parent" if child else "child")
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    recorder._recorder._left = 1000
    threads = [threading.Thread(target=recorder.value, args=(2, "x")) for _ in range(50)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    """
    recordings = record(program, find_python("3.11"), tmp_path)[TEST]
    assert recordings[0].values == (Leaf("str", "parent"),)
    assert len(recordings) == 9  # one before, and as many as the limit allows
    lines = (tmp_path / "recordings.jsonl").read_text().splitlines()
    assert '"kind": "full"' in lines[-1]


def test_a_loop_records_less_and_less_and_the_same_for_larger_objects(tmp_path):
    program = """
    class Node:
        def __init__(self, size):
            self.rows = [{"n": n} for n in range(size)]
            self._nodes = [Node(0) for _ in range(size)]
    for size in (40, 300):
        recorder.begin(f"test_m.py::test_{size}")
        for number in range(1100):
            recorder.value(1, Node(size), number)
    """
    by_test = record(program, find_python("3.11"), tmp_path)
    small, large = (by_test[f"test_m.py::test_{size}"] for size in (40, 300))
    assert len(small) == len(large) == 1000
    assert [each.values[1] for each in small] == [Leaf("int", n) for n in range(1000)]
    assert "'n': 39" in value_text(small[49].values[0], 10_000)
    assert "'n': 39" not in value_text(small[50].values[0], 10_000)
    assert (tmp_path / "recordings.jsonl").stat().st_size < 16 * 1024 * 1024


SEALED_PYTEST = """
import pytest
value, raises = __import__("agentbench_recorder").value, __import__("agentbench_recorder").raises

@pytest.fixture
def number():
    value(1, "set-up")
    return 6

@pytest.mark.parametrize("n", [1, 2])
def test_a(number, n):
    value(2, number * n)

def test_b():
    with raises(3) as caught:
        pytest.fail("on purpose")
    assert isinstance(caught.value, pytest.fail.Exception)
    with raises(4) as caught:
        {}["key"]
    assert caught.exconly() == "KeyError: 'key'"
    assert caught.traceback[-1].lineno > 0
    assert "KeyError" in str(caught)
    assert caught.match("any")

def test_skips():
    with raises(5) as caught:
        pytest.skip("not today")
    assert isinstance(caught.value, pytest.skip.Exception)

def test_nothing_is_raised():
    with raises(6):
        pass
"""
SEALED_UNITTEST = """
import unittest
recorder = __import__("agentbench_recorder")

class T(unittest.TestCase):
    def setUp(self): recorder.value(1, "set-up")
    def test_a(self): recorder.value(2, 6)
    def test_b(self):
        with recorder.raises(3) as caught: int("x")
        self.assertIsInstance(caught.exception, ValueError)
    def test_nothing_is_raised(self):
        with recorder.raises(4): pass
"""


PAGES = """
from types import SimpleNamespace
class Response:
    status_code, charset, streaming, is_rendered = 404, "latin-1", False, False
    def render(self):
        self.is_rendered, self.content = True, b"\\xe9"
recorder.value(1, recorder.page(Response()))
recorder.value(2, recorder.page(SimpleNamespace(
    status_code=200, charset="utf-8", streaming=True, streaming_content=[b"a", b"b"])))
"""


def test_a_page_is_read_as_django_reads_it(tmp_path):
    found = record(PAGES, sys.executable, tmp_path)[TEST]
    assert [value_text(each.values[0]) for each in found] == ["(404, 'é')", "(200, 'ab')"]


def recordings_in(sandbox):
    (file,) = Path(sandbox.results).rglob("recordings.jsonl")
    found = read_recordings(file.read_bytes())
    return {test: [each.site for each in recordings] for test, recordings in found.items()}


@pytest.mark.parametrize("version", PYTEST_VERSIONS)
def test_recordings_belong_to_the_tests_that_pytest_runs(open_sandbox, version):
    sandbox = open_sandbox({"test_m.py": SEALED_PYTEST}, *requirements(version))
    command = TestCommand(as_module=True, options=("-p", "no:cacheprovider"))
    request = RunRequest(runner=runner_of(command), timeout=timedelta(minutes=10), env={})
    result = execute_tests(sandbox, request).result
    outcomes = {test.node_id.partition("::")[2]: test.outcome.value for test in result.tests}
    assert outcomes == {
        "test_a[1]": "passed", "test_a[2]": "passed", "test_b": "passed",
        "test_skips": "passed", "test_nothing_is_raised": "failed",
    }  # fmt: skip
    assert recordings_in(sandbox) == {
        "test_m.py::test_a[1]": [1, 2],
        "test_m.py::test_a[2]": [1, 2],
        "test_m.py::test_b": [3, 4],
        "test_m.py::test_skips": [5],
        "test_m.py::test_nothing_is_raised": [6],
    }


def test_recordings_belong_to_the_tests_that_unittest_runs(open_sandbox):
    sandbox = open_sandbox({"test_m.py": SEALED_UNITTEST})
    command = parse_test_command("python -m unittest")
    execute_tests(
        sandbox, RunRequest(runner=runner_of(command), timeout=timedelta(minutes=10), env={})
    )
    assert recordings_in(sandbox) == {
        "test_m.py::T::test_a": [1, 2],
        "test_m.py::T::test_b": [1, 3],
        "test_m.py::T::test_nothing_is_raised": [1, 4],
    }


def test_a_run_without_recordings_leaves_an_empty_file(open_sandbox):
    sandbox = open_sandbox({"test_m.py": "def test_a(): pass\n"}, *requirements(NEWEST))
    request = RunRequest(
        runner=runner_of(TestCommand(as_module=True)), timeout=timedelta(minutes=10), env={}
    )
    execute_tests(sandbox, request)
    assert recordings_in(sandbox) == {}
