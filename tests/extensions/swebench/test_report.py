import pytest

from agentbench.agents.predictions import NO_PREDICTION
from agentbench.attempt.record import AgentRecord, PatchRecord
from agentbench.extensions.swebench.report import (
    InstanceOutcome,
    ReportedInstance,
    instance_report,
    outcome_of,
    run_report,
)
from agentbench.integrity.records import DroppedPath
from agentbench.scoring.evidence import AgentEnding, Ending
from agentbench.scoring.expectation import ExpectedTests
from agentbench.tasks.dataset_rows import SwebenchOrigin
from tests.runs import records
from tests.scoring import strategies
from tests.scoring.strategies import A, B, C

PATCH = PatchRecord(path="p", sha256="0", files=1, insertions=1, deletions=0)
NOTHING = PATCH.replace(files=0)
SUBMITTED = AgentRecord(ending=AgentEnding.SUBMITTED)
TOOL_ERROR = AgentRecord(ending=AgentEnding.TOOL_ERROR, detail="does not apply")
UNANSWERED = AgentRecord(ending=AgentEnding.TOOL_ERROR, detail=NO_PREDICTION)


def timed_out():
    final = strategies.ran(strategies.case(A), exit_code=None).replace(
        command=strategies.command(None, Ending.TIMED_OUT), report=None
    )
    return records.record_of(strategies.attempt(final), patch=PATCH)


OUTCOMES = {
    InstanceOutcome.RESOLVED: records.resolved(patch=PATCH, agent_run=SUBMITTED),
    InstanceOutcome.UNRESOLVED: records.failed(patch=PATCH, agent_run=SUBMITTED),
    InstanceOutcome.EMPTY_PATCH: records.failed(patch=NOTHING, agent_run=SUBMITTED),
    InstanceOutcome.ERROR: records.failed(patch=NOTHING, agent_run=TOOL_ERROR),
    InstanceOutcome.INCOMPLETE: records.failed(patch=NOTHING, agent_run=UNANSWERED),
}


@pytest.mark.parametrize(("outcome", "record"), OUTCOMES.items())
def test_each_attempt_has_one_outcome_in_swe_bench_s_words(outcome, record):
    assert outcome_of(record) is outcome


def test_a_task_without_an_attempt_is_incomplete():
    assert outcome_of(None) is InstanceOutcome.INCOMPLETE


@pytest.mark.parametrize(
    "record", [records.lost(patch=PATCH), records.interrupted(patch=PATCH), timed_out()]
)
def test_infrastructure_and_time_limits_are_errors(record):
    assert outcome_of(record) is InstanceOutcome.ERROR


def test_a_change_of_tests_alone_was_submitted_and_is_judged():
    dropped = (DroppedPath(path="tests/test_a.py", why="a test of the task"),)
    change = NOTHING.replace(dropped=dropped)
    assert (
        outcome_of(records.failed(patch=change, agent_run=SUBMITTED)) is InstanceOutcome.UNRESOLVED
    )


def test_an_agent_that_ran_out_of_time_with_a_patch_is_judged_by_it():
    late = AgentRecord(ending=AgentEnding.TIME_LIMIT)
    assert outcome_of(records.failed(patch=PATCH, agent_run=late)) is InstanceOutcome.UNRESOLVED
    assert outcome_of(records.failed(patch=NOTHING, agent_run=late)) is InstanceOutcome.EMPTY_PATCH


def reported(name, record):
    origin = SwebenchOrigin(instance_id=name, repo="a/b", fail_to_pass=(A,), pass_to_pass=(B,))
    return ReportedInstance(origin=origin, task_id=name.lower(), record=record)


def test_a_report_counts_and_names_every_instance():
    instances = [reported(f"A__{outcome}", record) for outcome, record in OUTCOMES.items()]
    instances.append(reported("A__lost", records.lost()))
    report = run_report(instances[::-1])
    assert report.total_instances == 6
    assert report.submitted_ids == (
        "A__empty_patch", "A__error", "A__lost", "A__resolved", "A__unresolved",
    )  # fmt: skip
    assert report.completed_ids == ("A__resolved", "A__unresolved")
    assert report.error_ids == ("A__error", "A__lost")
    assert report.incomplete_ids == ("A__incomplete",)
    assert report.empty_patch_ids == ("A__empty_patch",)
    assert report.infra_failure_ids == ("A__lost",)
    assert report.failure_reasons == {"A__lost": "SANDBOX_ERROR"}
    for kind in ("submitted", "completed", "resolved", "unresolved", "empty_patch", "error"):
        document = report.model_dump()
        assert document[f"{kind}_instances"] == len(document[f"{kind}_ids"])


def test_judged_instance_has_report_of_tests():
    report = instance_report(reported("x", OUTCOMES[InstanceOutcome.UNRESOLVED]))
    document = report.model_dump(mode="json", by_alias=True)
    assert document == {
        "patch_is_None": False,
        "patch_exists": True,
        "patch_successfully_applied": True,
        "resolved": False,
        "infra_failure": False,
        "tests_status": {
            "FAIL_TO_PASS": {"success": [], "failure": [A]},
            "PASS_TO_PASS": {"success": [B], "failure": []},
            "FAIL_TO_FAIL": {"success": [], "failure": []},
            "PASS_TO_FAIL": {"success": [], "failure": []},
        },
    }
    assert instance_report(reported("x", OUTCOMES[InstanceOutcome.RESOLVED])).resolved


@pytest.mark.parametrize(
    "outcome", [InstanceOutcome.EMPTY_PATCH, InstanceOutcome.ERROR, InstanceOutcome.INCOMPLETE]
)
def test_unjudged_instance_has_no_report(outcome):
    assert instance_report(reported("x", OUTCOMES[outcome])) is None


def test_truncated_name_fails_with_any_of_its_tests():
    origin = SwebenchOrigin(
        instance_id="x",
        repo="a/b",
        fail_to_pass=("cut", "both"),
        pass_to_pass=("[100%]", B),
        node_ids={"cut": (A, C), "both": (C,), "[100%]": ()},
    )
    final = strategies.ran(
        strategies.case(A, "failed"), strategies.case(C), strategies.case(B, "skipped")
    )
    expected = ExpectedTests(fail_to_pass=(A, C), pass_to_pass=(B,))
    record = records.record_of(strategies.attempt(final), expected, patch=PATCH)
    status = instance_report(
        ReportedInstance(origin=origin, task_id="x", record=record)
    ).tests_status
    assert (status.FAIL_TO_PASS.success, status.FAIL_TO_PASS.failure) == (("both",), ("cut",))
    assert (status.PASS_TO_PASS.success, status.PASS_TO_PASS.failure) == ((B,), ())


@pytest.mark.parametrize("outcome", ["skipped", "xfailed", "failed", "error"])
def test_a_test_that_was_to_be_fixed_is_a_success_only_if_it_passed(outcome):
    final = strategies.ran(strategies.case(A, outcome), strategies.case(B))
    expected = ExpectedTests(fail_to_pass=(A,), pass_to_pass=(B,))
    record = records.record_of(strategies.attempt(final), expected, patch=PATCH)
    status = instance_report(reported("x", record)).tests_status
    assert (status.FAIL_TO_PASS.success, status.FAIL_TO_PASS.failure) == ((), (A,))


def test_other_task_is_reported_by_its_own_id():
    one = ReportedInstance(origin=None, task_id="mine", record=OUTCOMES[InstanceOutcome.RESOLVED])
    assert run_report([one]).resolved_ids == ("mine",)
    assert instance_report(one).tests_status.FAIL_TO_PASS.success == (A,)
