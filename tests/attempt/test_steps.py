"""Tasks with steps, from their folder to a record, on real containers."""

import json
from pathlib import Path

import pytest
import tomlkit

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.reference import NoopAgent
from agentbench.attempt.record import AttemptRecord
from agentbench.report.attempt_text import render_attempt
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.loading import load_task
from agentbench.tasks.task import Task
from agentbench.taxonomy import StageName
from tests.attempt.e2e import test_verifier_run
from tests.attempt.e2e.test_verifier_run import Bench
from tests.fakes.scripted_agent import Given, ScriptedAgent
from tests.sandbox.conformance_base import sh

bench = test_verifier_run.bench
pytestmark = pytest.mark.docker
DOCKERFILE = "FROM agentbench/python:3.11\nUSER root\nSTOPSIGNAL SIGKILL\nWORKDIR /app\n"
PASS = "echo 1 > /logs/verifier/reward.txt"
WORK = f"if [ -e work ]; then {PASS}; else {PASS.replace('1', '0', 1)}; fi"
BOTH = ("one", "two")


def steps_task(place: Path, given: Bench, steps, *, verifier=None, user="root") -> Task:
    folder = place / "task"
    files = {"environment/Dockerfile": DOCKERFILE}
    tables = []
    for name, step in steps.items():
        table = dict(step)
        files[f"steps/{name}/instruction.md"] = f"Do {name}.\n"
        files[f"steps/{name}/tests/test.sh"] = f"#!/bin/bash\n{table.pop('test', WORK)}\n"
        files |= {f"steps/{name}/{path}": text for path, text in table.pop("files", {}).items()}
        tables.append({"name": name, **table})
    document = {
        "schema_version": 1,
        "title": "Steps",
        "repo": {"workdir": "/app"},
        "environment": {"dockerfile": "environment/Dockerfile", "user": user},
        "verifier": {"environment": "shared", "threshold": 0.9, **(verifier or {})},
        "steps": tables,
    }
    files["task.toml"] = tomlkit.dumps(document)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return load_task(folder, mirrors=given.mirrors)


def agent(commands, seen=None) -> ScriptedAgent:
    def work(given: Given) -> AgentOutcome:
        step = str(given.problem.step)
        result = sh(given.sandbox, f"touch work\n{commands.get(step, 'true')}")
        if seen is not None:
            seen[step] = (given.problem.instruction, result.stdout)
        return AgentOutcome(ending=AgentEnding.SUBMITTED, steps=1)

    return ScriptedAgent(work)


def rewards(record: AttemptRecord) -> list[dict[str, float] | None]:
    return [step.rewards for step in record.steps if step.ran]


def test_state_is_kept_between_steps_without_tests(bench, tmp_path):
    steps = {
        "one": {"files": {"tests/secret": "s", "workdir/given": "1", "solution/solve.sh": ""}},
        "two": {
            "test": "kill -0 $(cat pid) && [ -e made ] && [ -e /tmp/left ] && " + PASS,
            "files": {"workdir/setup.sh": "[ -e made ] && ! ls /tests/test.sh && rm given\n"},
        },
    }
    task = steps_task(tmp_path, bench, steps)
    seen: dict[str, tuple[str, str]] = {}
    worker = agent(
        {
            "one": "cat given; touch made /tmp/left; sleep 600 > /dev/null 2>&1 & echo $! > pid",
            "two": "ls -A /tests /logs/verifier; ls",
        },
        seen,
    )
    record = bench.attempt(task, worker)
    assert record.resolved, (record.detail, record.steps, [s.evidence for s in record.stages])
    assert seen["one"] == ("Do one.\n", "1")
    text = "/logs/verifier:\n\n/tests:\nmade\npid\nsetup.sh\nwork\n"
    assert seen["two"] == ("Do two.\n", text)
    # What the task itself wrote there is no change of the agent, but its removal is one.
    patch = (bench.place / "patch.diff").read_text()
    assert "+++ b/pid" in patch
    assert "setup.sh" not in patch
    assert [stage.name for stage in record.stages] == list(StageName)
    saved = json.loads((bench.place / record.steps[1].evidence).read_text())
    assert saved["verifier"]["rewards"]["rewards"] == {"reward": 1.0}
    assert "  two: reward 1; agent" in render_attempt(record, bench.place)


def test_fresh_verifier_judges_while_the_container_lives(bench, tmp_path):
    test = "[ ! -e /tmp/left ] && [ -e given ] && [ ! -e gone ] && grep -qx {0} made && " + PASS
    steps = {
        "one": {
            "test": test.format("one"),
            "files": {"workdir/given": "1", "workdir/gone": "1"},
            "min_reward": 1,
        },
        "two": {"test": test.format("two")},
    }
    task = steps_task(tmp_path, bench, steps, verifier={"environment": "fresh"}, user="agent")
    work = {
        "one": "rm gone; echo one > made; (sleep 600 & echo $! > /tmp/left) > /dev/null 2>&1",
        "two": "kill -0 $(cat /tmp/left) && echo two > made",
    }
    record = bench.attempt(task, agent(work))
    assert record.resolved, (record.detail, record.steps, [s.evidence for s in record.stages])
    assert rewards(record) == [{"reward": 1.0}] * 2


def test_late_agent_is_judged_and_continues(bench, tmp_path):
    steps = {"one": {"test": PASS, "agent": {"timeout_s": 1}}, "two": {}}
    task = steps_task(tmp_path, bench, steps)
    record = bench.attempt(task, agent({"one": "sleep 600"}))
    assert record.resolved
    assert [step.agent for step in record.steps] == ["time_limit", "submitted"]
    assert record.agent_run is not None
    assert record.agent_run.ending is AgentEnding.TIME_LIMIT
    assert record.agent_run.detail.startswith("step one: ")
    assert record.agent_run.steps == 2


@pytest.mark.parametrize(
    ("table", "reason", "detail"),
    [
        pytest.param(
            {"test": "[ -e made ] || echo 0 > /logs/verifier/reward.txt"},
            "INTERNAL_ERROR",
            "step one: the verifier left no reward.txt",
        ),
        (
            {"test": f"[ ! -e made ] || {{ {PASS}; sleep 600; }}", "verifier": {"timeout_s": 2}},
            "TIMEOUT",
            "still running after 2 s",
        ),
        (
            {"test": "[ -e made ] && echo '{\"a\": 1, \"reward\": 1}' > /logs/verifier/reward.json"
             f" || {PASS.replace('1', '0', 1)}", "min_reward": {"a": 2.0, "reward": 1.0}},
            "TESTS_FAILED",
            "step one: a 1 is below 2; 1 of 2 steps not run",
        ),
    ],
)  # fmt: skip
def test_step_that_ends_the_rest_decides(bench, tmp_path, table, reason, detail):
    task = steps_task(tmp_path, bench, {"one": table, "two": {}})
    record = bench.attempt(task, agent({"one": "touch made"}))
    assert (record.failure_reason, record.fault) == (reason, "agent")
    assert record.detail.startswith(detail)
    assert [step.ran for step in record.steps] == [True, False]
    assert (record.rewards or {}) == (record.steps[0].rewards or {})


def test_planted_files_do_not_reach_the_next_step(bench, tmp_path):
    steps = {"one": {}, "two": {"test": "[ -e made ] && " + PASS}}
    task = steps_task(tmp_path, bench, steps)
    plant = (
        f"for f in /tests/test.sh /tests/helper; do echo '{PASS}' > $f; chmod +x $f; done;"
        "echo 1 > /logs/verifier/reward.txt; echo '{\"reward\": 1}' > /logs/verifier/reward.json;"
        "mkdir -p /logs/verifier/deep; rm -rf /logs/agent; ln -s /tests /logs/agent"
    )
    record = bench.attempt(task, agent(dict.fromkeys(BOTH, plant)))
    assert rewards(record) == [{"reward": 1.0}, None]
    assert record.failure_reason == "INTERNAL_ERROR"
    assert record.detail.startswith("step two: the verifier left no reward")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("kill -9 -1", ""),
        # With it, what root left in /tests cannot be removed.
        ("cp /bin/false /usr/bin/find", "cannot empty /tests"),
    ],
)
@pytest.mark.parametrize("step", BOTH)
def test_broken_container_is_the_agents_fault(
    bench, tmp_path, step, command, said
):  # fmt: skip
    task = steps_task(tmp_path, bench, {name: {} for name in BOTH})
    record = bench.attempt(task, agent({step: command}))
    assert (record.failure_reason, record.fault) == ("SANDBOX_ERROR", "agent"), record.detail
    assert said in record.detail
    assert record.steps[0].rewards == (None if step == "one" else {"reward": 1.0})


def test_each_phase_of_a_step_has_its_network(bench, tmp_path):
    connected = "[ $(wc -l < /proc/net/route) -gt 1 ]"
    test = f"{connected} && {WORK}"
    steps = {
        "one": {"test": test},
        "two": {"test": test, "agent": {"network": True}},
        "three": {"test": test},
    }
    task = steps_task(tmp_path, bench, steps, verifier={"network": True})
    seen: dict[str, tuple[str, str]] = {}
    record = bench.attempt(task, agent(dict.fromkeys(steps, f"{connected} || echo none"), seen))
    assert record.resolved, record.detail
    assert [output for _, output in seen.values()] == ["none\n", "", "none\n"]


def test_broken_first_step_is_the_tasks_fault(bench, tmp_path):
    steps = {"one": {"files": {"workdir/setup.sh": "echo no such tool >&2; exit 3\n"}}, "two": {}}
    record = bench.attempt(steps_task(tmp_path, bench, steps), NoopAgent())
    assert (record.failure_reason, record.fault) == ("SETUP_FAILED", "task")
    assert "setup.sh of step one: exited 3 (no such tool)" in record.detail
    assert record.stages[-1].name is StageName.BASELINE_RUN


def test_step_that_needs_earlier_work_is_no_baseline_fault(bench, tmp_path):
    check = {"command": "[ -e made ]", "interval_s": 0.1, "retries": 2}
    task = steps_task(tmp_path, bench, {"one": {"test": PASS}, "two": {"healthcheck": check}})
    assert bench.attempt(task, agent({"one": "touch made"})).resolved
    record = bench.attempt(task, NoopAgent())
    assert (record.failure_reason, record.fault) == ("SANDBOX_ERROR", "agent")
    assert "step two: [steps.healthcheck] failed 2 times" in record.detail
    assert rewards(record) == [{"reward": 1.0}, None]
    assert record.rewards == {"reward": 1.0}


def test_baseline_runs_all_steps(bench, tmp_path):
    task = steps_task(tmp_path, bench, {name: {"test": PASS} for name in BOTH})
    record = bench.attempt(task, NoopAgent())
    assert (record.failure_reason, record.fault) == ("BASELINE_NOT_FAILING", "task")
    assert all((bench.place / f"baseline/steps/{name}/evidence.json").is_file() for name in BOTH)
