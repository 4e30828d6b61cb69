"""Whole attempts at tasks: the gateway, a sandbox, and a model that answers by a script."""

import pytest

from agentbench import run_attempt
from agentbench.models.trajectory import Trajectory
from agentbench.runs.store.store import RunStore
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.loading import load_task
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e import conftest as end_to_end
from tests.e2e.small_task import SmallTask
from tests.extensions.llm.hunks import edits_of
from tests.fakes.scripted_model import (
    Call,
    Calls,
    Fail,
    Say,
    ScriptedModel,
    Tokens,
    by_turn,
    for_ever,
)
from tests.fakes.staging import mirrors

bubblewrap = end_to_end.bubblewrap
cache_dir = end_to_end.cache_dir
walled_bench = end_to_end.walled_bench

PROVIDERS = {"openai": "openai/scripted", "anthropic": "anthropic/scripted"}
SUBMIT = Call("submit", {"summary": "mended"}, tokens=Tokens(input=900, output=9))
LOOK = Call("run", {"command": "ls"})
FIX = Call("edit", {"path": "basket.py", "old_text": "prices[1:]", "new_text": "prices"})


@pytest.fixture
def attempt(tmp_path, monkeypatch):
    def make(bench, task, script, *, provider="openai", **changes):
        with ScriptedModel(script) as server:
            monkeypatch.setenv("OPENAI_API_KEY", server.key)
            monkeypatch.setenv("ANTHROPIC_API_KEY", server.key)
            options = bench.options.replace(
                model=PROVIDERS[provider],
                base_url=server.base_url,
                probe=False,
                **changes,
            )
            record = run_attempt(task, "llm", sandbox=bench.provider, options=options)
        make.server = server
        make.folder = RunStore.open(options.runs_dir / record.run_id).folder_of(record)
        return record

    make.small = lambda bench, script, agent="", **options: make(
        bench, SmallTask(agent=agent).write(tmp_path / "task"), script, **options
    )
    return make


def by_edits(task):
    edits = [Call("edit", given) for given in edits_of(task.answer_key.solution_patch.decode())]
    look = [
        Call("read_file", {"path": edits[0].arguments["path"]}),
        Call("run", {"command": "git log"}),
    ]
    return [Calls(look), Calls(edits), Call("run_tests", {}), SUBMIT]


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("lru-expiry", "openai"),
        ("csv-dialect-sniffer", "anthropic"),
    ],
)
def test_shipped_task_is_solved(attempt, walled_bench, catalogue, name, provider):
    script = by_edits(load_task(catalogue / name, mirrors=mirrors()))
    record = attempt(walled_bench, catalogue / name, script, provider=provider)
    assert record.resolved, record.detail
    tokens = attempt.server.told
    assert record.usage is not None
    assert (record.usage.requests, record.usage.input_tokens, record.usage.output_tokens) == (
        len(attempt.server.asked),
        tokens.input,
        tokens.output,
    )
    text = (attempt.folder / "agent" / "trajectory.json").read_text()
    steps = Trajectory.model_validate_json(text).steps
    assert sum(step.source == "agent" for step in steps) == len(script)
    assert attempt.server.key not in text


def test_what_the_agent_did_is_counted_in_the_record(attempt, walled_bench):
    miss = Call("edit", {"path": "basket.py", "old_text": "nowhere", "new_text": "x"})
    script = [Fail(429, retry_after=0), LOOK, miss, FIX, Call("run_tests", {}), SUBMIT]
    record = attempt.small(walled_bench, script)
    assert record.resolved, record.detail
    assert record.agent_run is not None
    assert (record.agent_run.steps, record.agent_run.tool_calls) == (5, 5)
    assert (record.agent_run.tool_errors_recovered, record.agent_run.test_runs) == (1, 1)
    assert record.usage is not None
    assert record.usage.llm_errors == {"rate_limit": 1}


# How the loop ends in each case is tested in test_llm_agent.py.
REASONS = {
    "limit of steps": (for_ever(LOOK), "max_steps = 3", FailureReason.AGENT_GAVE_UP, "3 steps"),
    "tool errors": (
        for_ever(Call("fly", {})),
        "",
        FailureReason.TOOL_ERROR,
        "tool error at step 5: fly: there is no tool 'fly'",
    ),
    "bad key": (for_ever(Fail(401)), "", FailureReason.LLM_ERROR, "auth, HTTP 401"),
    "refusal": (
        by_turn([LOOK, Say("I will not", refused=True)]),
        "",
        FailureReason.LLM_ERROR,
        "LLM error at step 2: refusal",
    ),
}


@pytest.mark.parametrize("name", REASONS)
def test_each_end_is_the_reason_that_it_stands_for(attempt, walled_bench, name):
    script, limits, reason, detail = REASONS[name]
    record = attempt.small(walled_bench, script, limits)
    assert record.failure_reason is reason, record.detail
    assert record.fault is (Fault.INFRASTRUCTURE if name == "bad key" else Fault.AGENT)
    assert detail in record.detail


def test_work_that_was_done_before_the_model_failed_is_judged_all_the_same(attempt, walled_bench):
    record = attempt.small(walled_bench, [FIX, *[Fail(503, retry_after=0)] * 5])
    assert record.resolved
    assert record.agent_run is not None
    assert record.agent_run.ending is AgentEnding.LLM_ERROR
    assert "basket.py" in (attempt.folder / "patch.diff").read_text()


def test_recorded_attempt_can_be_replayed_without_a_model(attempt, walled_bench, tmp_path):
    recording = tmp_path / "recording.jsonl"
    script = [LOOK, FIX, Call("run_tests", {}), SUBMIT]
    task = SmallTask().write(tmp_path / "task")
    first = attempt(walled_bench, task, script, record=recording)
    again = attempt(walled_bench, task, [], replay=recording)
    assert (first.resolved, again.resolved) == (True, True), again.detail
    assert again.agent_run == first.agent_run
    assert attempt.server.requests == []
