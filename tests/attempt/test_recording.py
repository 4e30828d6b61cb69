import hashlib
from datetime import timedelta
from pathlib import PurePosixPath as P

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.reference import NoopAgent
from agentbench.attempt.context import AgentRunOutput, AttemptOutputs
from agentbench.attempt.record import rescore
from agentbench.attempt.recording import AttemptTimes, excluded_record, make_record
from agentbench.attempt.resources import AttemptSlot
from agentbench.errors import RunCancelled, SandboxError
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.records import DroppedPath
from agentbench.models.interface import ModelUsage
from agentbench.runs.store.summaries import was_interrupted
from agentbench.scoring.evidence import AgentEnding, Evidence, Finding, Severity
from agentbench.taxonomy import FailureReason, Fault
from tests.runs.records import RUN
from tests.scoring.strategies import NOON, A, attempt, case, command, ran, stage

TIMES = AttemptTimes(started_at=NOON, total=timedelta(seconds=100), queue_wait=timedelta(seconds=3))
PATCH = b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-old\n+new\n+more\n same\n"


@pytest.fixture
def recorded(task, workshop, tmp_path):
    def recorded(results=(), **work):
        resources = workshop()
        outputs = AttemptOutputs(
            task=task,
            results=tuple(results),
            image=resources.provider.resolve_image(None),
            agent_run=AgentRunOutput(evidence=Evidence(), **work) if work else None,
        )
        return make_record(
            agent=NoopAgent(),
            resources=resources,
            slot=AttemptSlot(folder=tmp_path, run_id=RUN, attempt=2, retry_of=1),
            times=TIMES,
            outputs=outputs,
        )

    return recorded


def test_record_names_task_agent_and_environment(recorded, task, provider):
    record = recorded()
    assert (record.run_id, record.attempt, record.retry_of) == (RUN, 2, 1)
    assert (record.task_id, record.task_digest) == (task.id, task.digest)
    assert (record.agent, record.model) == ("noop", None)
    assert record.environment.sandbox == provider.name
    assert record.environment.image == provider.resolve_image(None)
    assert record.environment.memory_mib == 2048
    assert record.agent_run is None
    assert record.patch is None


def test_attempt_without_stages_is_recorded(recorded):
    record = recorded()
    assert record.stages == ()
    assert record.timing.overhead_s == 100
    assert rescore(record) == record


def test_stage_record_has_command_log_and_limit(recorded, tmp_path):
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "setup.log").write_text("")
    done = command(3, output_bytes=10, truncated=True, peak_memory_bytes=5, cpu_seconds=0.5)
    results = (stage("git_clone", Evidence()), stage("setup", Evidence(command=done)))
    clone, setup = recorded(results).stages
    assert (setup.exit_code, setup.output_bytes, setup.truncated) == (3, 10, True)
    assert (setup.peak_memory_bytes, setup.cpu_seconds) == (5, 0.5)
    assert (setup.log, setup.timeout_s) == ("stages/setup.log", 600)
    assert (clone.log, clone.ending, clone.exit_code) == (None, None, None)


def test_patch_record_has_size_and_digest(recorded, tmp_path):
    (tmp_path / "patch.diff").write_bytes(PATCH)
    dropped = (DroppedPath(path="conftest.py", why="configuration of the tests"),)
    change = JudgedChange(files={P("x"): None}, emptied=(), dropped=dropped)
    patch = recorded(change=change).patch
    assert patch is not None
    assert (patch.files, patch.insertions, patch.deletions) == (1, 2, 1)
    assert patch.sha256 == hashlib.sha256(PATCH).hexdigest()
    assert patch.dropped == dropped


def test_record_has_outcome_and_usage(recorded):
    outcome = AgentOutcome(
        ending=AgentEnding.STEP_LIMIT,
        detail="gave up",
        steps=4,
        tool_calls=2,
        tool_errors_recovered=3,
        test_runs=5,
        usage=ModelUsage(
            requests=1, input_tokens=2, output_tokens=3, cached_tokens=4, cost_usd=None
        ),
    )
    record = recorded(outcome=outcome)
    assert record.agent_run is not None
    assert (record.agent_run.ending, record.agent_run.detail) == (outcome.ending, "gave up")
    assert (record.agent_run.steps, record.agent_run.tool_calls) == (4, 2)
    assert (record.agent_run.tool_errors_recovered, record.agent_run.test_runs) == (3, 5)
    assert record.usage is not None
    assert (record.usage.requests, record.usage.cached_tokens) == (1, 4)
    assert record.usage.cost_usd is None


def test_overhead_is_the_remaining_time(recorded):
    own = {"setup": 10.0, "baseline_run": 20.0, "agent_run": 30.0, "final_test": 5.0}
    results = tuple(stage(name, Evidence(own_seconds=own[name])) for name in own)
    timing = recorded(results).timing
    assert (timing.setup_s, timing.tests_s, timing.agent_s) == (10, 25, 30)
    assert (timing.total_s, timing.overhead_s, timing.queue_wait_s) == (100, 35, 3)


def test_record_has_findings_and_warnings_of_all_stages(recorded):
    finding = Finding(rule="r", severity=Severity.WARNING, where="x", what="y")
    results = attempt(
        ran(case(A)),
        ran(case(A, "failed")).replace(warnings=("odd",)),
        agent_run=Evidence(agent=AgentEnding.SUBMITTED, findings=(finding,)),
    )
    record = recorded(results)
    assert record.findings == (finding,)
    assert record.warnings == ("odd",)


def lost(task, workshop, folder, fault: BaseException):
    place = AttemptSlot(folder=folder, run_id=RUN, attempt=3, retry_of=1)
    return excluded_record(task, NoopAgent(), workshop(), place, fault)


def test_lost_node_is_an_infrastructure_failure(task, workshop, tmp_path):
    record = lost(task, workshop, tmp_path, SandboxError("node lost: it died"))
    assert record.failure_reason is FailureReason.SANDBOX_ERROR
    assert record.fault is Fault.INFRASTRUCTURE
    assert "node lost" in record.detail
    assert (record.task_id, record.attempt, record.retry_of) == (task.id, 3, 1)


def test_cancelled_before_start_is_interrupted(task, workshop, tmp_path):
    assert was_interrupted(lost(task, workshop, tmp_path, RunCancelled()))
