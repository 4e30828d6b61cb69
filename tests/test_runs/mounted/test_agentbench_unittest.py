"""The reporter of unittest: what it names, what it survives, and what it sees of tampering."""

from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.scoring.evidence import PytestOutcome
from agentbench.tasks.test_command import TestCommand, parse_test_command
from agentbench.tasks.test_runner_name import Runner
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.patience import with_growing_limit

HEAD = "import os, sys, unittest\n"
FAILING = HEAD + "class T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 2)\n"


@pytest.fixture
def run_in(open_sandbox):
    def run_in_(files, *, targets=(), python="3.11", env=None, command="python -m unittest"):
        files = {"test_m.py": files} if isinstance(files, str) else files
        request = RunRequest(
            runner=runner_of(parse_test_command(command)),
            timeout=timedelta(minutes=5),
            targets=targets,
            env=env or {},
        )
        return execute_tests(open_sandbox(files, python=python), request)

    return run_in_


def test_tests_have_the_names_that_every_version_prints(run_in):
    tests = (
        HEAD + "class T(unittest.TestCase):\n"
        "    def test_a(self):\n        '''\n        Adds two.\n\n        And more.\n        '''\n"
        "    class Inner(unittest.TestCase):\n        def test_b(self): pass\n"
        "Inner = T.Inner\n"
    )
    run = run_in(
        {"shop/__init__.py": "", "shop/tests/__init__.py": "", "shop/tests/test_m.py": tests}
    )
    names = {test.node_id: test.names for test in run.result.tests}
    assert names == {
        "shop/tests/test_m.py::T::test_a": ("test_a (shop.tests.test_m.T)", "Adds two."),
        "shop/tests/test_m.py::T::Inner::test_b": ("test_b (shop.tests.test_m.T.Inner)",),
    }
    (_, fact) = run.facts.cases
    assert fact.has_name("test_a (shop.tests.test_m.T)")
    assert fact.has_name("test_a (shop.tests.test_m.T.test_a)")
    assert fact.has_name("Adds two.")
    assert not fact.has_name("test_a (shop.tests.test_m.T.test_b)")
    assert not fact.has_name("Adds")


def test_doctests_and_functions_have_ids_of_their_files(run_in):
    module = (
        HEAD + "import doctest\n"
        "def half(n):\n    '''\n    >>> half(4)\n    2\n    '''\n    return n // 2\n"
        "def check(): assert half(2) == 1\n"
        "def load_tests(loader, tests, pattern):\n"
        "    tests.addTests(doctest.DocTestSuite())\n"
        "    tests.addTest(unittest.FunctionTestCase(check))\n"
        "    return tests\n"
    )
    run = run_in(module)
    assert {test.node_id: test.outcome for test in run.result.tests} == {
        "test_m.py::test_m.half": "passed",
        "test_m.py::check": "passed",
    }


def test_a_hook_of_a_package_loads_what_it_says(run_in):
    hook = (
        "import os\n"
        "def load_tests(loader, tests, pattern):\n"
        "    tests.addTests(loader.discover(os.path.dirname(__file__), pattern='check_*.py',"
        " top_level_dir='.'))\n"
        "    return tests\n"
    )
    files = {"tests/__init__.py": hook, "tests/check_m.py": FAILING.replace("1, 2", "1, 1")}
    run = run_in(files, targets=("tests",))
    assert [test.node_id for test in run.result.tests] == ["tests/check_m.py::T::test_a"]


def test_results_before_the_deadline_are_reported(open_sandbox):
    hanging = (
        HEAD + "import time\nclass T(unittest.TestCase):\n"
        "    def test_a(self): pass\n    def test_b(self): time.sleep(6000)\n"
    )
    sandbox = open_sandbox({"test_m.py": hanging})

    def run_within(seconds):
        command, limit = parse_test_command("python -m unittest"), timedelta(seconds=seconds)
        return execute_tests(sandbox, RunRequest(runner=runner_of(command), timeout=limit)).result

    result = with_growing_limit(run_within, lambda result: len(result.tests) == 2)
    assert result.outcome is PytestOutcome.TIMEOUT
    assert [test.outcome for test in result.tests] == ["passed", "unfinished"]


@pytest.mark.parametrize("python", ["3.6", "3.11", "3.13"])
@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("unittest.TestCase.run = lambda *a: None", "unittest.case.TestCase.run"),
        (
            "unittest.TestCase.assertEqual = lambda *a: None",
            "unittest.case.TestCase.assertEqual",
        ),
        (
            "unittest.TestCase.fail.__code__ = (lambda self, msg=None: None).__code__",
            "unittest.case.TestCase.fail",
        ),
        (
            "unittest.TestResult.addFailure = lambda *a: None",
            "unittest.result.TestResult.addFailure",
        ),
        (
            "unittest.TextTestResult.addFailure = lambda *a: None",
            "unittest.runner.TextTestResult.addFailure",
        ),
        (
            "unittest.TestResult.wasSuccessful = lambda *a: True",
            "unittest.result.TestResult.wasSuccessful",
        ),
        (
            "import unittest.case as c; c._Outcome = type('_Outcome', (c._Outcome,), {})",
            "unittest.case._Outcome.testPartExecutor",
        ),
        ("unittest.TestSuite.run = lambda s, r, debug=False: r", "unittest.suite.TestSuite.run"),
        (
            "unittest.TestLoader.getTestCaseNames = lambda *a: []",
            "unittest.loader.TestLoader.getTestCaseNames",
        ),
    ],
)
def test_a_replaced_function_is_named(run_in, statement, name, python):
    run = run_in(f"{FAILING}{statement}\n", python=python)
    assert name in run.facts.internals_changed


@pytest.mark.parametrize(
    "statement",
    [
        "unittest.TestResult.addFailure = unittest.TextTestResult.addFailure = lambda *a: None",
        "unittest.TestResult.wasSuccessful = lambda *a: True",
    ],
)
def test_a_failure_that_the_result_forgets_is_reported(run_in, statement):
    run = run_in(f"{FAILING}{statement}\n")
    assert [test.outcome for test in run.result.tests] == ["failed"]
    assert run.result.exit_code == 1


def test_methods_that_are_removed_from_the_result_hide_no_failure(run_in):
    removes = (
        "    def setUp(self):\n"
        "        result = self._outcome.result\n"
        "        result.addFailure = result.addError = lambda *a: None\n"
    )
    run = run_in(FAILING.replace("    def test_a", removes + "    def test_a"))
    assert [test.outcome for test in run.result.tests] == ["failed"]


@pytest.mark.parametrize("name", ["unittest.py", "agentbench_unittest.py", "traceback.py"])
def test_project_cannot_replace_unittest(run_in, name):
    files = {"test_m.py": FAILING, name: "import os\nos._exit(0)\n"}
    assert run_in(files).result.outcome is PytestOutcome.FAILED
    assert run_in(files, env={"PYTHONPATH": "."}).result.outcome is PytestOutcome.FAILED


def test_the_path_is_that_of_a_plain_run(run_in):
    tells = (
        HEAD + "class T(unittest.TestCase):\n    def test_a(self):\n"
        "        self.assertEqual(sys.path[0], os.getcwd())\n"
        "        self.assertEqual(sys.path[1], os.path.join(os.getcwd(), 'lib'))\n"
        "        self.assertTrue(sys.argv[0].endswith('unittest/__main__.py'), sys.argv)\n"
    )
    run = run_in({"test_m.py": tells, "lib/x.py": ""}, env={"PYTHONPATH": "lib"})
    assert run.result.outcome is PytestOutcome.PASSED, run.result.text_output


def test_a_script_of_another_project_is_run_from_its_folder(open_sandbox):
    script = (
        "import sys, unittest\n"
        "def main():\n"
        "    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])\n"
        "    return not unittest.TextTestRunner().run(suite).wasSuccessful()\n"
        "if __name__ == '__main__':\n"
        "    sys.exit(main())\n"
    )
    files = {
        "checks/runtests.py": script,
        "checks/shop/__init__.py": "",
        "checks/shop/tests.py": FAILING,
        "checks/shop/data.json": "{}",
    }
    command = TestCommand(as_module=False, runner=Runner.DJANGO, script="checks/runtests.py")
    request = RunRequest(
        runner=runner_of(command),
        timeout=timedelta(minutes=5),
        targets=("checks/shop/tests.py", "checks/shop/data.json", "checks", "README.rst"),
    )
    sandbox = open_sandbox(files)
    run = execute_tests(sandbox, request)
    assert [test.node_id for test in run.result.tests] == ["checks/shop/tests.py::T::test_a"]
    assert run.result.outcome is PytestOutcome.FAILED
    assert not list(Path(sandbox.workspace).rglob("*.pyc"))
