"""What counts as resolved, rule by rule: which tests are expected, and what a run lacks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.scoring.evidence import CaseOutcome, Ending, Evidence, ExceptionFact, ReportSource
from agentbench.scoring.expectation import (
    Expectation,
    outcomes_of,
    reported_cases,
    resolve_expectation,
    shortfall_of,
    with_node_ids,
)
from tests.scoring.strategies import (
    A,
    B,
    C,
    D,
    case,
    cases,
    command,
    expecting,
    passing_runs,
    ran,
    report,
)

NOT_PASSED = [outcome.value for outcome in CaseOutcome if outcome is not CaseOutcome.PASSED]
BEFORE = ran(case(A, "failed"), case(B), case(C, "skipped"))
UNLISTED = expecting((), ())


def lack(final: Evidence, expected=None, baseline: Evidence = BEFORE) -> str | None:
    asked = expecting() if expected is None else expected
    return shortfall_of(asked, resolve_expectation(asked, baseline), baseline, final)


def test_the_listed_ids_are_expected_as_they_stand():
    assert resolve_expectation(expecting([A, C], [B]), BEFORE) == Expectation((A, C), (B,))


def test_an_id_is_expected_once_and_in_the_stricter_list():
    listed = expecting([A, A, B], [B, C, C])
    assert resolve_expectation(listed, BEFORE) == Expectation((A, B), (C,))


def test_baseline_stands_for_every_test_that_passed_in_it():
    before = ran(case(A, "failed"), case(B), case(C, "xfailed"), case(D))
    expected = expecting([A], "baseline")
    assert resolve_expectation(expected, before) == Expectation((A,), (B, D))
    assert resolve_expectation(expecting([A, B], "baseline"), before).pass_to_pass == (D,)
    assert resolve_expectation(expected, Evidence()) == Expectation((A,), ())


def test_quarantined_tests_are_not_among_those_that_passed_before():
    expected = expecting([A], "baseline").replace(quarantined=(D,))
    before = ran(case(A, "failed"), case(B), case(D))
    assert resolve_expectation(expected, before) == Expectation((A,), (B,))
    assert lack(ran(case(A), case(B), case(D, "failed")), expected, before) is None
    assert lack(ran(case(A), case(B, "failed"), case(D)), expected, before) == f"{B} not passed"


def test_all_listed_tests_passed_lacks_nothing():
    assert lack(ran(case(A), case(B))) is None


@pytest.mark.parametrize("outcome", NOT_PASSED)
def test_a_test_to_fix_has_to_pass_and_nothing_else_will_do(outcome):
    assert lack(ran(case(A, outcome), case(B))) == f"{A} not passed"


def test_a_test_to_fix_that_is_missing_did_not_pass():
    assert lack(ran(case(B))) == f"{A} not run"


@pytest.mark.parametrize("phases", [(1, 0, 1), (1, 1, 0), (0, 0, 0), (2, 2, 2), (1, 2, 1)])
def test_a_test_to_fix_needs_exactly_one_of_each_phase(phases):
    without = f"{A} without exactly one set-up, call and teardown"
    assert lack(ran(case(A, phases=phases), case(B))) == without


def test_a_test_to_fix_that_is_reported_twice_is_not_believed():
    assert lack(ran(case(A, "failed"), case(A), case(B))) == f"{A} not passed"
    assert lack(ran(case(A), case(A, "failed"), case(B))) == f"{A} not passed"
    assert "exactly one" in lack(ran(case(A), case(A), case(B)))


@pytest.mark.parametrize("outcome", ["failed", "error", "unfinished"])
def test_a_test_to_keep_must_not_fail(outcome):
    assert lack(ran(case(A), case(B, outcome))) == f"{B} not passed"
    assert lack(ran(case(A), case(B, outcome), case(B))) == f"{B} not passed"


@pytest.mark.parametrize("outcome", ["passed", "skipped", "xfailed", "xpassed"])
def test_a_test_to_keep_may_do_anything_but_fail(outcome):
    assert lack(ran(case(A), case(B, outcome))) is None


def test_a_test_to_keep_may_be_run_twice_and_must_be_called():
    assert lack(ran(case(A), case(B, phases=(2, 2, 2)))) is None
    assert lack(ran(case(A), case(B, phases=(1, 0, 1)))) == f"{B} not passed"
    assert lack(ran(case(A), case(B, "skipped", phases=(1, 0, 1)))) is None


def test_a_test_to_keep_must_not_be_missing():
    assert lack(ran(case(A))) == f"{B} not run"


def test_the_first_lack_is_named_and_the_others_counted():
    assert lack(ran(case(B, "failed"))) == f"{A} not run and 1 more"
    assert lack(ran(case(D)), expecting([A, C], [B])) == f"{A} not run and 2 more"


def test_unlisted_failing_tests_do_not_spoil_a_listed_task():
    final = ran(case(A), case(B), case(C, "failed"))
    assert final.command.exit_code == 1
    assert lack(final) is None


@pytest.mark.parametrize(
    ("exit_code", "outcome"),
    [
        (0, "unverified"),  # a conftest sets the exit status
        (1, "unverified"),  # a hook raises at the session's end
        (1, "failed"),  # a plugin demands more coverage
        (2, "interrupted"),
        (3, "pytest_internal"),
        (42, "crash"),  # the project's own code
    ],
)
def test_whole_report_outweighs_exit_code(exit_code, outcome):
    final = ran(case(A), case(B), exit_code=exit_code, outcome=outcome)
    assert lack(final) is None
    assert lack(final, UNLISTED) is None
    final = ran(case(A), case(B, "failed"), exit_code=exit_code, outcome=outcome)
    assert lack(final) == f"{B} not passed"
    assert lack(final, UNLISTED) == "not all tests passed"
    final = ran(case(A), exit_code=exit_code, outcome=outcome, collected=2)
    assert lack(final) == f"{B} not run"
    assert lack(final, UNLISTED) == "not all tests passed"


def test_unexpected_success_without_lists_is_decided_by_exit_code():
    assert lack(ran(case(A), case(B, "xpassed")), UNLISTED, Evidence()) is None
    failed = ran(case(A), case(B, "xpassed"), exit_code=1, outcome="failed")
    assert lack(failed, UNLISTED, Evidence()) == "not all tests passed"


def test_file_that_cannot_be_collected_decides_only_without_lists():
    final = ran(case(A), case(B), collection_errors=("tests/test_x.py",))
    assert lack(final) is None
    assert lack(final, UNLISTED) == "tests/test_x.py could not be collected"


def test_process_killed_after_whole_report_counts():
    killed = command(None, Ending.KILLED, signal=11)
    assert lack(Evidence(command=killed, report=report(case(A), case(B)))) is None
    cut = report(case(A), case(B), complete=False)
    assert lack(Evidence(command=killed, report=cut)) == "no whole report of the final test"


def test_exit_0_is_no_evidence_without_a_whole_report():
    none = "no whole report of the final test"
    assert lack(Evidence(command=command(0))) == none
    assert lack(ran(case(A), case(B), complete=False)) == none


@pytest.mark.parametrize("source", [s for s in ReportSource if s is not ReportSource.STREAM])
def test_a_report_that_is_left_after_the_stream_is_gone_is_no_evidence(source):
    said = lack(ran(case(A), case(B), source=source))
    assert said == f"the streaming reporter's record is gone, and {source} is no evidence"


@pytest.mark.parametrize("ending", ["timed_out", "out_of_disk", "lost"])
def test_a_final_test_that_did_not_run_to_its_end_does_not_count(ending):
    final = Evidence(command=command(0, Ending(ending)), report=report(case(A), case(B)))
    assert lack(final) == "the final test did not run to its end"


def test_a_final_test_that_broke_off_in_an_exception_does_not_count():
    broke = ExceptionFact(type_name="SandboxError", message="", reason="SANDBOX_ERROR")
    final = ran(case(A), case(B)).replace(exception=broke)
    assert lack(final) == "the final test did not run to its end"
    assert lack(Evidence(report=report(case(A), case(B)))) is not None


def test_a_final_test_that_lost_a_child_to_memory_counts_by_its_report():
    seen = report(case(A), case(B), case(C, "failed"))
    assert lack(Evidence(command=command(1, Ending.OUT_OF_MEMORY), report=seen)) is None
    assert lack(Evidence(command=command(137, Ending.OUT_OF_MEMORY), report=seen)) is not None


def test_without_listed_ids_all_tests_have_to_pass():
    assert lack(ran(case(A), case(B), case(C, "skipped")), UNLISTED) is None
    assert lack(ran(case(A), case(B), case(C, "failed")), UNLISTED) == "not all tests passed"
    assert lack(ran(case(A), case(B), failed=1, outcome="passed"), UNLISTED) is not None


def test_without_listed_ids_at_least_one_test_has_to_pass():
    assert lack(ran(case(C, "skipped")), UNLISTED, Evidence()) == "not all tests passed"
    assert lack(ran(case(C)), UNLISTED, Evidence()) is None


@pytest.mark.parametrize("was", ["failed", "error", "unfinished"])
def test_without_listed_ids_what_failed_at_baseline_has_to_pass(was):
    before = ran(case(A, was), case(B))
    assert lack(ran(case(A), case(B)), UNLISTED, before) is None
    assert lack(ran(case(A, "skipped"), case(B)), UNLISTED, before) == f"{A} not passed"
    assert lack(ran(case(B)), UNLISTED, before) == f"{A} not run"


def test_without_tests_to_fix_the_tests_to_keep_are_still_kept():
    assert lack(ran(case(A)), expecting([], [B])) == f"{B} not run"
    assert lack(ran(case(A), case(B)), expecting([], "baseline")) is None
    assert lack(ran(case(A)), expecting([], "baseline")) == f"{B} not run"


def test_of_a_test_reported_twice_the_outcome_that_did_not_pass_is_shown():
    assert outcomes_of(ran(case(A), case(A, "failed"), case(B)))[A] is CaseOutcome.FAILED
    assert outcomes_of(ran(case(A, "error"), case(A)))[A] is CaseOutcome.ERROR
    assert reported_cases(Evidence()) == ()
    assert outcomes_of(Evidence()) == {}


@given(passing_runs(), st.sampled_from([A, B]), cases, st.booleans())
def test_spoiling_a_listed_test_always_leaves_a_lack(run, spoilt, other, drop):
    """Both are to be fixed here: whatever but one clean pass is put in its place lacks."""
    expected = expecting([A, B], [])
    assert lack(ran(*run), expected) is None
    new = other.replace(node_id=spoilt)
    if new == case(spoilt, "passed").replace(duration=new.duration):
        new = new.replace(outcome=CaseOutcome.SKIPPED)
    rest = tuple(c for c in run if c.node_id != spoilt)
    assert lack(ran(*rest, *(() if drop else (new,))), expected) is not None


def named(node_id, *names, outcome="passed"):
    return case(node_id, outcome).replace(names=names)


def test_a_name_stands_for_every_test_that_has_it_in_any_run():
    before = ran(named(A, "test_a (m.T)", "It counts.", outcome="failed"))
    final = ran(named(A, "test_a (m.T)", "It counts."), named(B, "test_b (m.T)", "It counts."))
    for older_or_newer in ("test_a (m.T)", "test_a (m.T.test_a)"):
        expected = with_node_ids(expecting([older_or_newer], [C]), before, final)
        assert (expected.fail_to_pass, expected.pass_to_pass) == ((A,), (C,))
    assert with_node_ids(expecting(["It counts."], "baseline"), before, final) == expecting(
        [A, B], "baseline"
    )
    assert with_node_ids(expecting([B], ["test_a (m.T)"]), before).pass_to_pass == (A,)


def test_a_name_that_no_test_has_is_missing():
    final = ran(named(A, "test_a (m.T)"))
    expected = with_node_ids(expecting(["test_x (m.T)"], []), BEFORE, final)
    assert lack(final, expected) == "test_x (m.T) not run"


def test_node_ids_stand_as_they_are_listed():
    expected = expecting([A], [B])
    assert with_node_ids(expected, ran(named(A, "test_a (m.T)"))) is expected
