"""The verdict of one attempt: the decisions, and which stage's failure is the primary one."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentbench.scoring import FailureReason, Fault, StageName, StageResult, Verdict, judge
from agentbench.scoring.evidence import (
    AgentEnding,
    CaseOutcome,
    CollectionFact,
    Ending,
    Evidence,
    ExceptionFact,
    Finding,
    ReportSource,
    Severity,
)
from agentbench.scoring.verdict import ChangeCounts, baseline_failure, baseline_warnings
from tests.scoring.strategies import (
    A,
    B,
    C,
    D,
    attempt,
    attempts,
    case,
    command,
    evidences,
    expectations,
    expecting,
    passing_runs,
    ran,
    report,
    stage,
)

FIXED = ran(case(A), case(B))
STILL_FAILING = ran(case(A, "failed"), case(B))
CRITICAL = Finding(rule="leak", severity=Severity.CRITICAL, where="final_test", what="seen")


def stopped(ending: str, **more) -> Evidence:
    return Evidence(agent=AgentEnding(ending), **more)


def primary(verdict: Verdict) -> tuple[str | None, str | None]:
    return verdict.failure_reason, verdict.fault


def test_fixed_task_is_resolved():
    verdict = judge(expecting(), attempt(FIXED))
    assert verdict.resolved
    assert primary(verdict) == (None, None)
    assert verdict.failures == ()
    assert verdict.counts == ChangeCounts(fixed=1)


def test_failing_task_is_not_resolved():
    verdict = judge(expecting(), attempt(STILL_FAILING))
    assert primary(verdict) == ("TESTS_FAILED", "agent")
    assert verdict.detail == "1 of 2 tests failed"
    assert verdict.counts == ChangeCounts(still_failing=1)


@pytest.mark.parametrize("ending", ["step_limit", "time_limit", "tool_error", "llm_error"])
def test_final_test_decides_for_any_ending(ending):
    assert judge(expecting(), attempt(FIXED, agent_run=stopped(ending))).resolved


@pytest.mark.parametrize(
    ("ending", "code", "fault"),
    [
        ("submitted", "TESTS_FAILED", "agent"),
        ("step_limit", "AGENT_GAVE_UP", "agent"),
        ("time_limit", "TIMEOUT", "agent"),
        ("tool_error", "TOOL_ERROR", "agent"),
        ("llm_error", "LLM_ERROR", "infrastructure"),
        ("crashed", "UNKNOWN", "agent"),
    ],
)
def test_precedence_picks_the_primary_reason(ending, code, fault):
    verdict = judge(expecting(), attempt(STILL_FAILING, agent_run=stopped(ending)))
    assert primary(verdict) == (code, fault)
    assert FailureReason.TESTS_FAILED in {failure.reason for failure in verdict.failures}


@pytest.mark.parametrize(
    ("name", "evidence", "code"),
    [
        ("git_clone", Evidence(command=command(128)), "GIT_CLONE_FAILED"),
        ("git_checkout", Evidence(command=command(1)), "GIT_CHECKOUT_FAILED"),
        ("setup", Evidence(command=command(None, Ending.TIMED_OUT)), "SETUP_TIMEOUT"),
        ("baseline_run", Evidence(command=command(0)), "BASELINE_NOT_FAILING"),
    ],
)
def test_failure_before_the_agent_decides(name, evidence, code):
    before = attempt(FIXED)[: list(StageName).index(StageName(name))]
    verdict = judge(expecting(), [*before, stage(name, evidence)])
    assert primary(verdict) == (code, "task")
    assert all(test.final is None for test in verdict.tests)


def test_passing_final_test_does_not_rescue_failed_setup():
    verdict = judge(expecting(), attempt(FIXED, setup=Evidence(command=command(1))))
    assert primary(verdict) == ("SETUP_FAILED", "task")


def test_exit_0_without_a_report_is_an_internal_error():
    verdict = judge(expecting(), attempt(Evidence(command=command(0))))
    assert primary(verdict) == ("INTERNAL_ERROR", "agent")


def test_exit_0_without_the_listed_ids_is_tests_failed():
    verdict = judge(expecting(), attempt(ran(case(C))))
    assert primary(verdict) == ("TESTS_FAILED", "agent")
    assert verdict.detail == f"{A} not run and 1 more"
    assert verdict.counts.unrun == 2


@pytest.mark.parametrize(("exit_code", "outcome"), [(5, "no_tests"), (0, "passed")])
@pytest.mark.parametrize("listed", [expecting(), expecting((), ())])
def test_nothing_collected_is_no_tests_collected(exit_code, outcome, listed):
    verdict = judge(listed, attempt(ran(exit_code=exit_code, outcome=outcome)))
    assert primary(verdict) == ("NO_TESTS_COLLECTED", "agent")


def test_skipped_test_to_fix_is_tests_failed():
    verdict = judge(expecting(), attempt(ran(case(A, "skipped"), case(B))))
    assert primary(verdict) == ("TESTS_FAILED", "agent")
    assert verdict.detail == f"{A} not passed"
    assert verdict.counts.still_failing == 1


def test_final_test_without_any_evidence_is_not_resolved():
    verdict = judge(expecting(), attempt(Evidence()))
    assert primary(verdict) == ("TESTS_FAILED", "agent")
    assert verdict.detail == "no whole report of the final test"


def test_exception_in_the_final_test_is_not_resolved():
    lost = ExceptionFact(type_name="SandboxError", message="gone", reason="SANDBOX_ERROR")
    final = FIXED.replace(exception=lost)
    assert primary(judge(expecting(), attempt(final))) == ("SANDBOX_ERROR", "infrastructure")


def test_attempt_without_evidence_is_unknown():
    for stages in ((), attempt(FIXED)[:-1]):
        verdict = judge(expecting(), stages)
        assert primary(verdict) == ("UNKNOWN", "infrastructure")
        assert not verdict.resolved


def test_interrupt_by_the_user_is_not_the_agents_fault():
    ctrl_c = ExceptionFact(type_name="KeyboardInterrupt", message="", reason="INTERRUPTED")
    stages = attempt(FIXED, agent_run=Evidence(exception=ctrl_c))[:-1]
    assert primary(judge(expecting(), stages)) == ("INTERRUPTED", "infrastructure")
    own = ctrl_c.replace(fault="agent")
    stages = attempt(FIXED, agent_run=Evidence(exception=own))[:-1]
    assert primary(judge(expecting(), stages)) == ("INTERRUPTED", "agent")


def test_pytest_that_never_started_is_the_tasks_fault_only_if_the_baseline_had_none():
    no_pytest = ran(exit_code=1, outcome="spawn")
    assert primary(judge(expecting(), attempt(no_pytest))) == ("INTERNAL_ERROR", "agent")
    broken = judge(expecting(), attempt(no_pytest, no_pytest))
    assert primary(broken) == ("INTERNAL_ERROR", "task")
    gave_up = judge(expecting(), attempt(no_pytest, no_pytest, agent_run=stopped("step_limit")))
    assert primary(gave_up) == ("AGENT_GAVE_UP", "agent")


def test_critical_finding_quarantines_a_resolved_attempt():
    verdict = judge(expecting(), attempt(FIXED.replace(findings=(CRITICAL,))))
    assert (verdict.resolved, verdict.quarantined) == (False, True)
    assert primary(verdict) == ("TESTS_FAILED", "agent")
    assert verdict.detail == "quarantined: leak at final_test: seen"
    assert verdict.counts.fixed == 1


def test_critical_finding_of_any_stage_quarantines():
    evidence = stopped("submitted", findings=(CRITICAL,))
    assert judge(expecting(), attempt(FIXED, agent_run=evidence)).quarantined


@pytest.mark.parametrize("severity", [Severity.INFO, Severity.WARNING])
def test_warning_does_not_quarantine(severity):
    finding = CRITICAL.replace(severity=severity)
    final = FIXED.replace(findings=(finding,))
    assert judge(expecting(), attempt(final)).resolved


def test_unresolved_attempt_is_not_quarantined():
    final = STILL_FAILING.replace(findings=(CRITICAL,))
    verdict = judge(expecting(), attempt(final))
    assert not verdict.quarantined
    assert verdict.detail == "1 of 2 tests failed"


def test_replaced_internals_of_pytest_quarantine():
    final = ran(case(A), case(B), internals_changed=("_pytest.runner", "x"))
    usual = ran(case(A, "failed"), case(B), internals_changed=("x",))
    verdict = judge(expecting(), attempt(final, usual))
    assert verdict.quarantined
    assert (
        verdict.detail == "quarantined: internals of the test runner were replaced: _pytest.runner"
    )
    harmless = ran(case(A), case(B), internals_changed=("x",))
    assert judge(expecting(), attempt(harmless, usual)).resolved
    assert judge(expecting(), attempt(harmless, Evidence())).quarantined


def test_baseline_that_passes_all_tests_to_fix_is_not_failing():
    passes = ran(case(A), case(B), case(C, "failed"))
    failure = baseline_failure(expecting(), passes)
    assert failure.reason is FailureReason.BASELINE_NOT_FAILING
    assert failure.fault is Fault.TASK
    assert primary(judge(expecting(), attempt(FIXED, passes))) == ("BASELINE_NOT_FAILING", "task")


def test_baseline_that_fails_a_test_to_fix_is_valid():
    assert baseline_failure(expecting(), STILL_FAILING) is None
    assert baseline_failure(expecting([A, B], []), STILL_FAILING) is None
    assert baseline_failure(expecting(), ran(case(A, "skipped"), case(C, "failed"))) is None
    assert baseline_failure(expecting((), ()), STILL_FAILING) is None
    assert baseline_failure(expecting(), Evidence(command=command(2))) is None


@pytest.mark.parametrize(
    ("baseline", "warnings"),
    [
        (STILL_FAILING, ()),
        (
            ran(case(B), exit_code=2),
            (
                "the baseline exited 2, where a failing test run exits 1",
                "no fail_to_pass test ran in the baseline",
            ),
        ),
        (ran(case(B), case(C, "failed")), ("no fail_to_pass test ran in the baseline",)),
        (
            ran(case(A, "skipped"), case(C, "failed")),
            (
                "no fail_to_pass test ran in the baseline",
                f"skipped in the baseline, not failing: {A}",
            ),
        ),
        (
            ran(case(A), case(C, "failed")),
            (f"passes before any fix, though listed as fail_to_pass: {A}",),
        ),
        (
            Evidence(command=command(None, Ending.KILLED, signal=11)),
            ("the baseline ended in killed", "no fail_to_pass test ran in the baseline"),
        ),
        (
            Evidence(),
            (
                "the baseline exited None, where a failing test run exits 1",
                "no fail_to_pass test ran in the baseline",
            ),
        ),
    ],
)
def test_baseline_with_a_wrong_reason_has_a_warning(baseline, warnings):
    assert baseline_warnings(expecting([A, A]), baseline) == warnings


def test_baseline_without_a_report_has_a_warning():
    (warning,) = baseline_warnings(expecting([], "baseline"), Evidence(command=command(1)))
    assert warning.startswith("no report says which tests passed")
    assert baseline_warnings(expecting([], "baseline"), STILL_FAILING) == ()
    assert baseline_warnings(expecting([], []), Evidence(command=command(1))) == ()


def test_verdict_shows_each_listed_test_once_from_baseline_to_final():
    expected = expecting([A, A], [A, B, B])
    verdict = judge(expected, attempt(ran(case(A), case(B, "failed"), case(C))))
    shown = [(t.node_id, t.listed, t.baseline, t.final) for t in verdict.tests]
    assert shown == [
        (A, "fail_to_pass", "failed", "passed"),
        (B, "pass_to_pass", "passed", "failed"),
    ]
    assert verdict.counts == ChangeCounts(fixed=1, regressed=1)


def test_without_listed_tests_to_fix_the_verdict_shows_every_test():
    before = ran(case(A, "failed"), case(C, "skipped"))
    after = ran(case(A), case(C, "skipped"), case(D))
    verdict = judge(expecting([], [B]), attempt(after, before))
    shown = [(t.node_id, t.listed, t.baseline, t.final) for t in verdict.tests]
    assert shown == [
        (B, "pass_to_pass", None, None),
        (A, None, "failed", "passed"),
        (C, None, "skipped", "skipped"),
        (D, None, None, "passed"),
    ]
    assert verdict.counts == ChangeCounts(fixed=2, unrun=1)


def test_skipped_listed_test_that_passes_is_fixed():
    before = ran(case(A, "skipped"), case(B, "skipped"), case(C, "failed"))
    verdict = judge(expecting(), attempt(FIXED, before))
    assert verdict.counts == ChangeCounts(fixed=1)


def test_failing_test_is_counted_as_still_failing():
    verdict = judge(expecting((), ()), attempt(ran(case(A, "error"), case(B))))
    assert verdict.counts == ChangeCounts(still_failing=1)


def test_out_of_memory_in_the_final_test_is_the_agents_fault():
    dead = command(137, Ending.OUT_OF_MEMORY)
    final = Evidence(command=dead, report=report(case(B)), memory_limit_mib=256)
    verdict = judge(expecting(), attempt(final))
    assert primary(verdict) == ("SANDBOX_ERROR", "agent")
    assert verdict.detail == "out of memory (limit 256 MiB)"


def uncollected(*facts: CollectionFact) -> Evidence:
    files = tuple(fact.file for fact in facts)
    return ran(
        exit_code=2, outcome="collection_error", collection_errors=files, collection_facts=facts
    )


OLD = CollectionFact(file="tests/test_other.py", error="ImportError", path="old.py", line=3)
NEW = CollectionFact(file="tests/test_it.py", error="SyntaxError", path="model.py", line=42)


@pytest.mark.parametrize(
    ("before", "after", "fault", "detail"),
    [
        ([], [NEW], Fault.AGENT, "SyntaxError in model.py, line 42"),
        ([OLD], [OLD, NEW], Fault.AGENT, "SyntaxError in model.py, line 42"),
        ([OLD], [OLD.replace(line=9)], Fault.TASK, "baseline has the same error"),
        ([OLD], [OLD.replace(path="b.py")], Fault.AGENT, "ImportError in b.py"),
        ([NEW], [NEW], Fault.AGENT, "SyntaxError in model.py, line 42"),  # perhaps the very bug
    ],
)  # fmt: skip
def test_collection_error_is_the_tasks_only_where_the_baseline_has_it_beside_the_tests_to_fix(
    before, after, fault, detail
):
    baseline = uncollected(*before) if before else ran(case(A, "failed"), case(B))
    verdict = judge(expecting(), attempt(uncollected(*after), baseline))
    assert primary(verdict) == (FailureReason.INTERNAL_ERROR, fault)
    assert verdict.detail.startswith("Tests could not be collected: ")
    assert detail in verdict.detail


CRASHED = Evidence(
    exception=ExceptionFact(
        type_name="ZeroDivisionError", message="odd", reason="UNKNOWN", fault="agent"
    )
)


@pytest.mark.parametrize("agent_run", [CRASHED, stopped("crashed"), stopped("interrupted")])
@pytest.mark.parametrize(
    "final", [STILL_FAILING, uncollected(NEW), Evidence(command=command(None, Ending.TIMED_OUT))]
)
def test_crash_of_an_agent_outranks_its_final_test(agent_run, final):
    verdict = judge(expecting(), attempt(final, agent_run=agent_run))
    (crash,) = [each for each in verdict.failures if each.terminal]
    assert (crash.stage, crash.fault) == (StageName.AGENT_RUN, Fault.AGENT)
    assert primary(verdict) == (crash.reason, Fault.AGENT)
    assert len(verdict.failures) == 2


def test_crash_hides_no_fix_and_no_fault_of_the_harness():
    assert judge(expecting(), attempt(FIXED, agent_run=CRASHED)).resolved
    lost = Evidence(command=command(None, Ending.LOST))
    verdict = judge(expecting(), attempt(lost, agent_run=CRASHED))
    assert primary(verdict) == (FailureReason.SANDBOX_ERROR, Fault.INFRASTRUCTURE)


UNCALLED = case(A, "unfinished", phases=(1, 0, 1))
BASELINES = {
    "failed at exit 0": (ran(case(A, "failed"), exit_code=0), None),
    "cut off at exit 0": (ran(case(A, "unfinished"), exit_code=0, complete=False), None),
    "crashed in it": (
        Evidence(
            command=command(None, Ending.KILLED, signal=11),
            report=report(case(A, "unfinished"), complete=False),
        ),
        None,
    ),
    "hung in it": (
        Evidence(
            command=command(None, Ending.TIMED_OUT),
            report=report(case(A, "unfinished"), complete=False),
        ),
        None,
    ),
    "hung in another test": (
        Evidence(
            command=command(None, Ending.TIMED_OUT),
            report=report(case(A, "failed"), case(B, "unfinished"), complete=False),
        ),
        ("TIMEOUT", "task"),
    ),
    "hung after all tests": (
        Evidence(
            command=command(None, Ending.TIMED_OUT), report=report(case(A, "failed"), case(B))
        ),
        ("TIMEOUT", "task"),
    ),
    "passed at exit 1": (ran(case(A), case(B), exit_code=1), ("BASELINE_NOT_FAILING", "task")),
    "skipped at exit 0": (
        ran(case(A, "skipped"), case(B), exit_code=0),
        ("BASELINE_NOT_FAILING", "task"),
    ),
    "none at exit 0": (ran(exit_code=0, collected=2), ("NO_TESTS_COLLECTED", "task")),
    "set-up plan at exit 0": (
        ran(UNCALLED, exit_code=0, outcome="unverified"),
        ("NO_TESTS_COLLECTED", "task"),
    ),
    "its file not collected at exit 0": (
        ran(case(B), exit_code=0, collection_errors=("tests/test_it.py",)),
        None,
    ),
}


def test_missing_tests_to_fix_are_named_in_the_baseline():
    failure = baseline_failure(expecting(), ran(case(B), exit_code=0))
    assert failure.reason is FailureReason.NO_TESTS_COLLECTED
    assert failure.detail == (
        f"no test to fix ran in the baseline: {A}: not among the 1 test that ran; does tests.patch "
        "add them?"
    )


@pytest.mark.parametrize(("evidence", "expected"), BASELINES.values(), ids=BASELINES)
def test_baseline_is_judged_by_its_report(evidence, expected):
    failure = baseline_failure(expecting(), evidence)
    found = None if failure is None else (failure.reason.value, failure.fault.value)
    assert found == expected
    if expected is not None and expected[0] == "NO_TESTS_COLLECTED":
        assert "no test to fix ran in the baseline: " in failure.detail


def fact_in(file, error="ModuleNotFoundError", message="No module named 'x'"):
    return CollectionFact(file=file, error=error, path=file, line=1, message=message)


def import_errors(*files, **more):
    facts = tuple(fact_in(file) for file in files)
    return ran(exit_code=2, collection_errors=files, collection_facts=facts, **more)


def session_end(outcome, code, stderr="", **more):
    return Evidence(command=command(code, stderr=stderr), report=report(outcome=outcome, **more))


USAGE = (
    "ERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --x\n  rootdir: /w\n"
)
ALIKE = {
    "usage error": session_end("usage", 4, USAGE, complete=False),
    "internal error": session_end("pytest_internal", 3, "INTERNALERROR> OSError: 7\n= in 0.1s =\n"),
    "no tests": session_end("no_tests", 5),
    "signal in another test": Evidence(
        command=command(None, Ending.KILLED, signal=11),
        report=report(case(B, "unfinished"), complete=False),
    ),
    "set-up of every test": ran(case(A, "error"), case(B, "error")),
    "error in a file without tests to fix": import_errors("tests/test_it.py", "tests/test_old.py"),
}


@pytest.mark.parametrize("evidence", ALIKE.values(), ids=ALIKE)
def test_final_test_that_fails_like_the_baseline_is_the_tasks(evidence):
    verdict = judge(expecting(), attempt(evidence, evidence))
    assert (verdict.resolved, verdict.fault) == (False, "task")
    assert "baseline has the same error" in verdict.detail
    other = ran(case(A, "failed"), case(B))
    assert judge(expecting(), attempt(evidence, other)).fault == "agent"
    assert judge(expecting(), attempt(other, evidence)).fault == "agent"


def test_error_in_the_file_of_a_test_to_fix_may_be_the_bug():
    evidence = import_errors("tests/test_it.py")
    assert judge(expecting(), attempt(evidence, evidence)).fault == "agent"


def test_another_message_is_another_end():
    before = session_end("usage", 4, USAGE, complete=False)
    after = session_end("usage", 4, USAGE.replace("--x", "--y"), complete=False)
    assert judge(expecting(), attempt(after, before)).fault == "agent"


@pytest.mark.parametrize("outcome", ["failed", "error", None])
def test_kept_test_that_ended_so_in_the_baseline_is_the_tasks(outcome):
    kept = [case(B, outcome)] if outcome else []
    before, after = ran(case(A, "failed"), *kept), ran(case(A), *kept)
    verdict = judge(expecting(), attempt(after, before))
    assert (verdict.failure_reason, verdict.fault) == ("TESTS_FAILED", "task")
    assert "as in the baseline" in verdict.detail
    assert judge(expecting(), attempt(before, before)).fault == "agent"
    forged = ran(case(A), *kept, source=ReportSource.JSON_REPORT)
    assert judge(expecting(), attempt(forged, before)).fault == "agent"


NOT_PASSED = [outcome for outcome in CaseOutcome if outcome is not CaseOutcome.PASSED]


@given(expectations, attempts())
@settings(max_examples=150)
def test_verdict_is_consistent_in_itself(expected, stages):
    verdict = judge(expected, stages)
    assert verdict.resolved == (verdict.failure_reason is None) == (verdict.fault is None)
    assert not (verdict.resolved and verdict.quarantined)
    assert verdict.resolved == (not verdict.failures)
    assert len({test.node_id for test in verdict.tests}) == len(verdict.tests)


@given(expectations, attempts())
@settings(max_examples=150)
def test_primary_reason_is_that_of_lowest_precedence(expected, stages):
    verdict = judge(expected, stages)
    reasons = [failure.reason for failure in verdict.failures if failure.terminal]
    assert verdict.failure_reason is FailureReason.resolve(reasons)


@given(expectations, attempts())
def test_resolved_takes_a_final_test(expected, stages):
    assert not judge(expected, [r for r in stages if r.stage is not StageName.FINAL_TEST]).resolved


@given(passing_runs(), st.sampled_from([A, B]), st.sampled_from(NOT_PASSED), evidences)
def test_turning_a_passed_listed_test_into_anything_else_never_resolves(run, spoilt, new, agent):
    expected = expecting([A, B], [])
    before = ran(case(A, "failed"), case(B, "failed"))
    assert judge(expected, attempt(ran(*run), before)).resolved
    changed = (case(c.node_id, new) if c.node_id == spoilt else c for c in run)
    assert not judge(expected, attempt(ran(*changed), before, agent_run=agent)).resolved
    missing = (c for c in run if c.node_id != spoilt)
    assert not judge(expected, attempt(ran(*missing), before, agent_run=agent)).resolved


@given(expectations, attempts(), st.sampled_from([A, B]), st.sampled_from(NOT_PASSED))
@settings(max_examples=150)
def test_no_unresolved_attempt_is_resolved_by_a_test_that_stops_passing(
    expected, stages, spoilt, new
):
    spoilt_stages = [
        _with_outcome(result, spoilt, new) if result.stage is StageName.FINAL_TEST else result
        for result in stages
    ]
    listed = spoilt in expected.fail_to_pass
    if listed or not judge(expected, stages).resolved:
        assert not judge(expected, spoilt_stages).resolved


def _with_outcome(result: StageResult, node_id: str, outcome: CaseOutcome) -> StageResult:
    report = result.evidence.report
    if report is None:
        return result
    cases = tuple(c.replace(outcome=outcome) if c.node_id == node_id else c for c in report.cases)
    changed = report.replace(cases=cases)
    evidence = result.evidence.replace(report=changed)
    return result.replace(evidence=evidence)


UNTESTED = [s for s in StageName if s not in {StageName.BASELINE_RUN, StageName.FINAL_TEST}]


@given(expectations, attempts(), st.sampled_from(UNTESTED), evidences)
@settings(max_examples=150)
def test_one_more_failure_never_raises_the_primary_number(expected, stages, name, evidence):
    """A baseline or a final test would change what is expected and seen, not only what failed."""
    is_crash = evidence.exception is not None or evidence.agent in {"crashed", "interrupted"}
    assume(name is not StageName.AGENT_RUN or not is_crash)  # it takes the final test's word away
    before = judge(expected, stages)
    assume(not before.resolved and not before.quarantined)
    after = judge(expected, [*stages, stage(name, evidence)])
    assert after.failure_reason is not None
    assert after.failure_reason.precedence <= before.failure_reason.precedence


@given(expectations, attempts())
def test_attempt_judged_again_from_its_json_gives_the_same_verdict(expected, stages):
    verdict = judge(expected, stages)
    read = [StageResult.model_validate_json(result.model_dump_json()) for result in stages]
    again = judge(type(expected).model_validate_json(expected.model_dump_json()), read)
    assert again == verdict
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


@given(expectations, evidences)
def test_warnings_of_a_baseline_are_a_tuple_of_distinct_sentences(expected, evidence):
    warnings = baseline_warnings(expected, evidence)
    assert len(set(warnings)) == len(warnings)


@given(evidences.filter(lambda e: e.exception is None))
def test_only_a_lost_sandbox_in_a_final_test_is_infrastructure(final):
    verdict = judge(expecting(), attempt(final.replace(agent=None)))
    lost = final.command is not None and final.command.ending == "lost"
    assert lost or verdict.fault is not Fault.INFRASTRUCTURE


@given(evidences)
def test_attempt_whose_final_test_is_empty_is_never_resolved(agent):
    assert not judge(expecting(), attempt(Evidence(), agent_run=agent)).resolved
