"""Values that freeze or crash a comparison on the host, in a real child process."""

import os
import signal
import subprocess
from decimal import Decimal

import pytest

from agentbench.integrity.sealing.canonical import Group, Leaf, Recording, of_python
from agentbench.integrity.sealing.isolation import ComparisonLimits, Incomparable, isolated
from agentbench.integrity.sealing.memory import SealedReference
from tests.integrity.sealing.hostile_recordings import executions
from tests.integrity.sealing.test_plan import outcome, plan, referenced, values

QUICK = ComparisonLimits(one_seconds=0.3)
TESTS = """
def test_bad():
    assert {}

def test_good():
    assert parse('b') == 61

def test_wrong():
    assert parse('c') == 62
"""
NAMES = ("test_bad", "test_good", "test_wrong")


def judged(condition, *found, reference=(), limits=QUICK):
    made = plan(TESTS.format(condition), *NAMES)
    bad = Recording(1, found)
    run = outcome({"test_bad": [bad], "test_good": [values(2, 61)], "test_wrong": [values(3, 0)]})
    known = SealedReference()
    if reference:
        known = referenced(
            outcome(
                {
                    "test_bad": [Recording(1, reference)],
                    "test_good": [values(2, 61)],
                    "test_wrong": [values(3, 62)],
                }
            )
        )
    (result,) = isolated(made.judge_all, [run], known, limits=limits)
    return result


def huge(bits):
    return Leaf("int", 1 << bits)


ENDLESS = of_python(range(10**18))


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("'pear' in parse('a')", ENDLESS),
        ("2.5 in parse('a')", of_python(range(10**15))),
        ("(1, 2) in parse('a')", of_python(range(-(10**20), 10**20))),
        ("'pear' in parse('a')", of_python(range(0, 10**30, 7))),
        ("None not in parse('a')", ENDLESS),
        ("re.search('(a+)+(a+)+$', parse('a'))", of_python("a" * 40 + "b")),
    ],
)
def test_comparison_that_never_ends_counts_against_its_value_alone(condition, value):
    result = judged(condition, value)
    assert {one.node_id.partition("::")[2] for one in result.mismatches} == {
        "test_bad",
        "test_wrong",
    }
    assert result.mismatches[0].actual == "its comparison took longer than 0.3 s"
    assert result.values == 3


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("parse('a') == 1", Group("decimal", (Leaf("str", "sNaN"),))),
        ("parse('a') < 1", of_python(Decimal("sNaN"))),
        ("parse('a') == pytest.approx(1.5)", of_python(Decimal("sNaN"))),
        ("parse('a') == pytest.approx(1.5)", of_python(complex(1.7e308, 1.7e308))),
        ("parse('a') == pytest.approx(1.5)", huge(5000)),
        ("parse('a') in b'abc'", of_python(300)),
        ("parse('a') in b'abc'", of_python(-1)),
        ("parse('a') < 1.5", huge(5000)),
    ],
)
def test_value_that_python_cannot_compare_is_not_right(condition, value):
    result = judged(condition, value)
    assert {one.node_id.partition("::")[2] for one in result.mismatches} == {
        "test_bad",
        "test_wrong",
    }


def test_value_that_freezes_the_reference_too_is_no_evidence():
    result = judged("'pear' in parse('a')", ENDLESS, reference=(ENDLESS,))
    assert [one.node_id.partition("::")[2] for one in result.mismatches] == ["test_wrong"]
    assert result.unsealed["test_it.py::test_bad"] == "the host cannot evaluate line 5"


def test_no_value_is_compared_after_the_time_limit():
    limits = ComparisonLimits(one_seconds=0.3, all_seconds=0)
    result = judged("parse('a') == 61", of_python(61), limits=limits)
    assert len(result.mismatches) == 3
    assert result.mismatches[0].actual == "the time for all comparisons was used up"


class Slow:
    def __init__(self, log):
        self.log = log

    def __call__(self, at):
        def compare():
            with self.log.open("a") as log:
                log.write(f"{at}\n")
            return at if at < 2 else os.kill(os.getpid(), signal.SIGSEGV)

        return compare


def test_no_comparison_is_repeated_after_another_one_ended_the_process(tmp_path):
    log = tmp_path / "log"
    assert isolated(_compare_in_turn, Slow(log))[:2] == [0, 1]
    assert log.read_text().split() == ["0", "1", "2", "3"]


def test_hostile_recordings_are_compared_within_the_limits():
    compared = sum(found.values for found, _ in executions(range(6)))
    assert compared > 200


def test_token_with_a_huge_number_names_no_expected_value():
    body = """
    @pytest.mark.parametrize("given, expected", [("a", 61), ("b", 62)])
    def test_it(given, expected):
        assert parse(given) == expected
    """
    made = plan(body, "test_it[a-61]", "test_it[b-62]")
    token = Group("token", (huge(50_000),))
    run = outcome({"test_it[a-61]": [Recording(1, (of_python(61), token))]})
    (result,) = isolated(made.judge_all, [run], SealedReference(), limits=QUICK)
    assert result.sealed == frozenset()


def _compare_in_turn(compare, guard):
    return [guard.run(compare(at)) for at in range(4)]


class Third:
    def __init__(self, how):
        self.how = how

    def __call__(self, at):
        return self._bad if at == 2 else lambda: at

    def _bad(self):
        if self.how == "signal":
            os.kill(os.getpid(), signal.SIGSEGV)
        return b"x" * (64 << 30) if self.how == "memory" else self._bad()


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("signal", "its comparison crashed by signal 11"),
        ("memory", "MemoryError: "),
        ("recursion", "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_crash_of_one_comparison_leaves_the_others(how, reason):
    first, second, third, fourth = isolated(_compare_in_turn, Third(how), limits=QUICK)
    assert (first, second, fourth) == (0, 1, 3)
    assert third == Incomparable(reason)


def _fails(_guard):
    raise LookupError("a bug")


def test_failure_outside_of_a_comparison_is_a_bug_with_its_traceback():
    with pytest.raises(ChildProcessError, match="LookupError: a bug"):
        isolated(_fails)


def test_deep_value_reaches_the_child():
    value = of_python(61)
    for _ in range(98):
        value = Group("list", (value,))
    assert len(judged("parse('a') == 61", value).mismatches) == 2


def test_killed_forking_process_is_restarted():
    assert judged("parse('a') == 61", of_python(61)).values == 3
    argv = ["pgrep", "-P", str(os.getpid()), "-f", "isolation import _serve"]
    (server,) = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    os.kill(int(server), signal.SIGKILL)
    os.waitpid(int(server), 0)
    assert judged("parse('a') == 61", of_python(61)).values == 3
