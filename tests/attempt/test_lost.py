from agentbench.agents.reference import NoopAgent
from agentbench.attempt.recording import excluded_record
from agentbench.attempt.resources import AttemptSlot
from agentbench.errors import RunCancelled, SandboxError
from agentbench.runs.store.summaries import was_interrupted
from agentbench.taxonomy import FailureReason, Fault
from tests.runs.records import RUN


def lost(task, workshop, folder, fault: BaseException):
    place = AttemptSlot(folder=folder, run_id=RUN, attempt=3, retry_of=1)
    return excluded_record(task, NoopAgent(), workshop(), place, fault)


def test_a_lost_node_is_the_infrastructure_s_fault(task, workshop, tmp_path):
    record = lost(task, workshop, tmp_path, SandboxError("node lost: it died"))
    assert record.failure_reason is FailureReason.SANDBOX_ERROR
    assert record.fault is Fault.INFRASTRUCTURE
    assert "node lost" in record.detail
    assert (record.task_id, record.attempt, record.retry_of) == (task.id, 3, 1)


def test_what_ctrl_c_kept_from_beginning_was_interrupted(task, workshop, tmp_path):
    assert was_interrupted(lost(task, workshop, tmp_path, RunCancelled()))
