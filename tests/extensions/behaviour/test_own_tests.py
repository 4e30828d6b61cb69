"""Whether an agent's own test run failed, by the text of its runner."""

import pytest

from agentbench.extensions.behaviour.own_tests import OwnTests, own_tests


@pytest.mark.parametrize(
    "output",
    [
        "=== 1 failed, 3 passed in 0.1s ===",
        "FAILED tests/test_a.py::test_b - assert 1 == 2",
        "\x1b[31m1 failed\x1b[0m",
        "Ran 2 tests in 0.1s\n\nFAILED (failures=1)",
        "--- FAIL: TestA (0.00s)\nFAIL",
        "Tests:       1 failed, 2 passed, 3 total",
        "test result: FAILED. 1 passed; 1 failed;",
        "Tests run: 3, Failures: 1, Errors: 0",
        "not ok 1 - adds",
        '{"outcome": "failed", "failed": 1}',
        "E   ModuleNotFoundError: No module named 'x'",
        "1 error in 0.2s",
        ".F..                           [100%]",
    ],
)
def test_failures_are_seen(output: str) -> None:
    assert own_tests(output) is OwnTests.FAILED


@pytest.mark.parametrize(
    "output",
    [
        "=== 3 passed, 1 xfailed in 0.1s ===",
        "5 passed, 2 skipped, 1 deselected",
        "Ran 2 tests in 0.1s\n\nOK",
        "ok  \texample.com/x\t0.1s",
        "test result: ok. 2 passed; 0 failed;",
        "Tests run: 3, Failures: 0, Errors: 0, Skipped: 0",
        "# pass 2\n# fail 0",
        '{"outcome": "passed"}',
    ],
)
def test_success_is_seen(output: str) -> None:
    assert own_tests(output) is OwnTests.PASSED


@pytest.mark.parametrize("output", ["", "bash: pytest: command not found", "no tests ran in 0.0s"])
def test_other_output_is_unknown(output: str) -> None:
    assert own_tests(output) is OwnTests.UNKNOWN
