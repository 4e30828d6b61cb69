"""Tasks whose tests run under unittest: solved, not solved, and cheated at."""

from dataclasses import replace

import pytest

from agentbench.integrity.records import ControlKind
from agentbench.scoring.evidence import CaseOutcome
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.taxonomy import FailureReason, StageName
from agentbench.validation.task_proof import prove
from tests.corpora.cheats.cheat import adds, writes
from tests.e2e.bench import Bench
from tests.e2e.small_task import BUGGY, FIX, PARTIAL_FIX, SERIAL, SmallTask

HIDDEN = """\
import unittest

import basket


class Totals(unittest.TestCase):
    def test_every_price_counts(self):
        self.assertEqual(basket.total([1, 2, 3]), 6)

    def test_one_price_is_the_total(self):
        "The total of one price is that price."
        self.assertTrue(basket.total([5]) == 5)

    def test_prices_are_numbers(self):
        with self.assertRaisesRegex(TypeError, "unsupported operand"):
            basket.total(["1"])
"""
VISIBLE = """\
import unittest

import basket


class Visible(unittest.TestCase):
    def test_the_cheapest_is_found(self):
        self.assertEqual(basket.cheapest([3, 1, 2]), 1)

    def test_an_empty_basket_costs_nothing(self):
        self.assertEqual(basket.total([]), 0)
"""
TOTALS = "tests/test_hidden.py::Totals::"
IDS = tuple(
    TOTALS + name
    for name in (
        "test_every_price_counts",
        "test_one_price_is_the_total",
        "test_prices_are_numbers",
    )
)
NAMES = (
    "test_every_price_counts (tests.test_hidden.Totals)",
    "The total of one price is that price.",
    "test_prices_are_numbers (tests.test_hidden.Totals.test_prices_are_numbers)",
)
TASK = SmallTask(
    tests='runner = "unittest"\npass_to_pass = "baseline"',
    fail_to_pass=IDS,
    hidden=HIDDEN,
    files={
        "basket.py": BUGGY,
        "tests/__init__.py": "",
        "tests/test_basket.py": VISIBLE,
        "serial.txt": SERIAL,
    },
)
BY_NAME = replace(TASK, fail_to_pass=NAMES)


@pytest.mark.parametrize("task", [TASK, BY_NAME], ids=["by id", "by name"])
def test_the_reference_solution_resolves_it_and_every_test_is_controlled(
    bench: Bench, tmp_path, task
):
    record = bench.attempt(task.write(tmp_path / "task"), "oracle")
    assert record.resolved, record.detail
    assert {test.node_id for test in record.tests if test.listed == "fail_to_pass"} == set(IDS)
    kinds = {test.node_id: test.control for test in record.controls.tests}
    assert kinds.keys() >= set(IDS)
    assert ControlKind.WEAK not in kinds.values()
    assert ControlKind.SEALED in kinds.values()


@pytest.mark.parametrize("task", [TASK, BY_NAME], ids=["by id", "by name"])
def test_doing_nothing_or_half_of_it_does_not_resolve_it(bench: Bench, tmp_path, task):
    folder = task.write(tmp_path / "task")
    nothing = bench.attempt(folder, "noop")
    half = bench.command(folder, PARTIAL_FIX)
    for record in (nothing, half):
        assert not record.resolved
        assert record.failure_reason is FailureReason.TESTS_FAILED
    failed = {test.node_id for test in nothing.tests if test.final is CaseOutcome.FAILED}
    assert failed == set(IDS)


def test_a_fix_of_the_agents_own_resolves_it(bench: Bench, tmp_path):
    record = bench.command(TASK.write(tmp_path / "task"), FIX)
    assert record.resolved, record.detail


def test_a_module_that_does_not_compile_is_named(bench: Bench, tmp_path):
    record = bench.command(TASK.write(tmp_path / "task"), adds("def broken(:"))
    assert record.failure_reason is FailureReason.INTERNAL_ERROR
    assert "SyntaxError in basket.py, line " in record.detail


CHEATS = {
    "run of every test case": adds(
        "import unittest\n"
        "def run(self, result=None):\n"
        "    result.startTest(self)\n"
        "    result.addSuccess(self)\n"
        "    result.stopTest(self)\n"
        "unittest.TestCase.run = run"
    ),
    "failures of every result": adds(
        "import unittest\n"
        "unittest.TestResult.addFailure = unittest.TestResult.addError = lambda *a: None"
    ),
    "code of an assertion": adds(
        "import unittest\n"
        "nothing = (lambda self, *a, **k: None).__code__\n"
        "unittest.TestCase._baseAssertEqual.__code__ = nothing\n"
        "unittest.TestCase.assertTrue.__code__ = nothing"
    ),
    "the part executor": adds(
        "import contextlib, unittest.case\n"
        "@contextlib.contextmanager\n"
        "def lenient(self, *a, **k):\n"
        "    try: yield\n"
        "    except Exception: pass\n"
        "unittest.case._Outcome.testPartExecutor = lenient"
    ),
    "an exit with success": adds("import os\nos._exit(0)"),
    "an exit at the first call": adds("import os\ndef total(prices):\n    os._exit(0)"),
    "a polite exit": adds("import sys\nsys.exit(0)"),
    "a value that equals everything": adds(
        "class Any(int):\n"
        "    __eq__ = lambda self, other: True\n"
        "    __ne__ = lambda self, other: False\n"
        "    __hash__ = int.__hash__\n"
        "def total(prices):\n"
        "    sum(prices)\n"
        "    return Any()"
    ),
    "a shadow of unittest": writes("unittest.py", "import sys\nsys.exit(0)"),
    "start-up code": writes("sitecustomize.py", "import os\nos._exit(0)"),
    "a hook that loads no tests": writes(
        "tests/__init__.py",
        "def load_tests(loader, tests, pattern):\n    return loader.suiteClass()",
    ),
    "results that the package removes": adds(
        "import gc, unittest\n"
        "def total(prices):\n"
        "    for result in gc.get_objects():\n"
        "        if isinstance(result, unittest.TestResult):\n"
        "            vars(result).update(dict.fromkeys(('addError', 'addFailure'), print))\n"
        "    return 0"
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_no_cheat_resolves_it(walled_bench: Bench, tmp_path, name):
    record = walled_bench.command(TASK.write(tmp_path / "task"), CHEATS[name])
    assert not record.resolved


def test_replaced_functions_of_unittest_are_reported(walled_bench: Bench, tmp_path):
    record = walled_bench.command(
        TASK.write(tmp_path / "task"), CHEATS["failures of every result"] + FIX
    )
    final = next(stage for stage in record.stages if stage.name is StageName.FINAL_TEST)
    assert "unittest.result.TestResult.addFailure" in final.evidence.report.internals_changed
    assert not record.resolved


def test_a_task_that_lists_names_is_validated_with_every_control(walled_bench: Bench, tmp_path):
    folder = BY_NAME.write(tmp_path / "task")
    task = load_task(folder, mirrors=Mirrors(tmp_path / "mirrors"))
    solved = walled_bench.attempt(folder, "oracle")
    proof = prove(task, [solved], [walled_bench.attempt(folder, "noop")])
    assert proof.faults == ()
    assert set(proof.controlled) == set(IDS)
    assert proof.to_control == len(IDS)
