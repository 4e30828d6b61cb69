import hashlib
from datetime import timedelta
from pathlib import PurePosixPath as P

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.reference import NoopAgent
from agentbench.attempt.context import AgentRunOutput, AttemptOutputs
from agentbench.attempt.record import rescore
from agentbench.attempt.recording import AttemptTimes, make_record
from agentbench.attempt.resources import AttemptSlot
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.records import DroppedPath
from agentbench.models.interface import ModelUsage
from agentbench.scoring.evidence import AgentEnding, Evidence, Finding, Severity
from tests.runs.records import RUN
from tests.scoring.strategies import NOON, A, attempt, case, command, ran, stage

TIMES = AttemptTimes(started_at=NOON, total=timedelta(seconds=100), queue_wait=timedelta(seconds=3))
PATCH = b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-old\n+new\n+more\n same\n"


@pytest.fixture
def recorded(task, workshop, tmp_path):
    """Makes the record of an attempt whose agent did this."""

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


def test_who_tried_what_and_where(recorded, task, provider):
    record = recorded()
    assert (record.run_id, record.attempt, record.retry_of) == (RUN, 2, 1)
    assert (record.task_id, record.task_digest) == (task.id, task.digest)
    assert (record.agent, record.model) == ("noop", None)
    assert record.environment.sandbox == provider.name
    assert record.environment.image == provider.resolve_image(None)
    assert record.environment.memory_mib == 2048
    assert record.agent_run is None
    assert record.patch is None


def test_an_attempt_of_which_no_stage_ran_is_recorded_too(recorded):
    record = recorded()
    assert record.stages == ()
    assert record.timing.overhead_s == 100
    assert rescore(record) == record


def test_a_stage_is_told_with_its_command_its_log_and_its_limit(recorded, tmp_path):
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "setup.log").write_text("")
    done = command(3, output_bytes=10, truncated=True, peak_memory_bytes=5, cpu_seconds=0.5)
    results = (stage("git_clone", Evidence()), stage("setup", Evidence(command=done)))
    clone, setup = recorded(results).stages
    assert (setup.exit_code, setup.output_bytes, setup.truncated) == (3, 10, True)
    assert (setup.peak_memory_bytes, setup.cpu_seconds) == (5, 0.5)
    assert (setup.log, setup.timeout_s) == ("stages/setup.log", 600)
    assert (clone.log, clone.ending, clone.exit_code) == (None, None, None)


def test_a_patch_is_told_by_its_size_and_its_digest(recorded, tmp_path):
    (tmp_path / "patch.diff").write_bytes(PATCH)
    dropped = (DroppedPath(path="conftest.py", why="configuration of the tests"),)
    change = JudgedChange(files={P("x"): None}, emptied=(), dropped=dropped)
    patch = recorded(change=change).patch
    assert patch is not None
    assert (patch.files, patch.insertions, patch.deletions) == (1, 2, 1)
    assert patch.sha256 == hashlib.sha256(PATCH).hexdigest()
    assert patch.dropped == dropped


def test_what_the_agent_did_and_used_is_told(recorded):
    outcome = AgentOutcome(
        ending=AgentEnding.STEP_LIMIT,
        steps=4,
        usage=ModelUsage(
            requests=1, input_tokens=2, output_tokens=3, cached_tokens=4, cost_usd=None
        ),
    )
    record = recorded(outcome=outcome)
    assert record.agent_run is not None
    assert record.agent_run.steps == 4
    assert record.usage is not None
    assert (record.usage.requests, record.usage.cached_tokens) == (1, 4)
    assert record.usage.cost_usd is None


def test_the_harness_answers_for_the_time_that_is_nobody_elses(recorded):
    own = {"setup": 10.0, "baseline_run": 20.0, "agent_run": 30.0, "final_test": 5.0}
    results = tuple(stage(name, Evidence(own_seconds=own[name])) for name in own)
    timing = recorded(results).timing
    assert (timing.setup_s, timing.tests_s, timing.agent_s) == (10, 25, 30)
    assert (timing.total_s, timing.overhead_s, timing.queue_wait_s) == (100, 35, 3)


def test_findings_and_warnings_of_all_stages_are_gathered(recorded):
    finding = Finding(rule="r", severity=Severity.WARNING, where="x", what="y")
    results = attempt(
        ran(case(A)),
        ran(case(A, "failed")).replace(warnings=("odd",)),
        agent_run=Evidence(agent=AgentEnding.SUBMITTED, findings=(finding,)),
    )
    record = recorded(results)
    assert record.findings == (finding,)
    assert record.warnings == ("odd",)
