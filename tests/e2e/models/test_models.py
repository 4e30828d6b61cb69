"""Any command as an agent, a model that answers by a script, and what comes of it."""

from dataclasses import replace
from itertools import count

import pytest

from agentbench import run_attempt
from agentbench.agents.command import CommandAgent
from agentbench.models.interface import ModelErrorKind
from agentbench.models.trajectory import Trajectory
from agentbench.runs.store.store import RunStore
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e.back_ends import one_back_end
from tests.e2e.clients.conftest import write_prices
from tests.e2e.models.client import command
from tests.e2e.small_task import FIX, SmallTask
from tests.fakes.scripted_model import Cut, Fail, Reset, Say, ScriptedModel, Tokens, for_ever
from tests.patience import with_growing_limit

RUN_FIX = Say(f"run: {FIX}", Tokens(input=100, output=20, cached=40))
DONE = Say("all is well", Tokens(input=150, output=5))
WIRES = {"openai-chat": "openai/scripted", "anthropic-messages": "anthropic/scripted"}


@pytest.fixture
def attempt(bench, tmp_path, monkeypatch):
    """Makes an attempt at the small task with a scripted model, on each back end in turn."""
    return _maker(bench, tmp_path, monkeypatch)


@pytest.fixture
def walled_attempt(walled_bench, tmp_path, monkeypatch):
    """The same on bubblewrap without controls, for what these have no part in."""
    options = walled_bench.options.replace(integrity_controls=ControlLevel.OFF)
    return _maker(replace(walled_bench, options=options), tmp_path, monkeypatch)


def _maker(bench, tmp_path, monkeypatch):
    numbers = count(1)

    def make(script, *, wire="openai-chat", line=None, agent="", model=None, tries=3, prices=None):
        with ScriptedModel(script) as server:
            monkeypatch.setenv("OPENAI_API_KEY", server.key)
            monkeypatch.setenv("ANTHROPIC_API_KEY", server.key)
            options = bench.options.replace(
                model=model or WIRES[wire],
                base_url=server.base_url,
                probe=False,
                prices=prices,
            )
            task = SmallTask(agent=agent).write(tmp_path / f"task-{next(numbers)}")
            record = run_attempt(
                task,
                CommandAgent(line or command(wire, tries)),
                sandbox=bench.provider,
                options=options,
            )
        make.server = server
        make.folder = RunStore.open(options.runs_dir / record.run_id).folder_of(record)
        return record

    return make


@pytest.mark.parametrize(
    ("bench", "wire"),
    [
        ("bubblewrap", "openai-chat"),
        pytest.param("docker", "anthropic-messages", marks=pytest.mark.docker),
    ],
    indirect=["bench"],
)
def test_an_agent_in_a_sandbox_without_network_asks_its_model_and_mends_the_bug(attempt, wire):
    record = attempt([RUN_FIX, DONE], wire=wire)
    assert record.resolved, record.detail
    assert (record.model, record.agent) == ("scripted", "command")
    told = attempt.server.told
    assert record.usage is not None
    assert (record.usage.requests, record.usage.input_tokens, record.usage.output_tokens) == (
        2,
        told.input,
        told.output,
    )
    assert record.usage.cached_tokens == told.cached
    assert record.usage.cost_usd is None  # nobody knows the price of a scripted model
    assert record.usage.llm_errors == {}


def test_what_was_said_is_told_as_a_trajectory(walled_attempt):
    walled_attempt([RUN_FIX, DONE])
    text = (walled_attempt.folder / "agent" / "trajectory.json").read_text()
    told = Trajectory.model_validate_json(text)
    assert [step.source for step in told.steps] == ["user", "agent", "user", "agent"]
    assert told.steps[-1].message == "all is well"
    assert told.final_metrics.total_prompt_tokens == 250
    assert (walled_attempt.folder / "agent" / "llm.jsonl").is_file()


def test_a_rate_limit_that_passes_changes_nothing_but_the_count(walled_attempt):
    record = walled_attempt([Fail(429, retry_after=0), RUN_FIX, DONE])
    assert record.resolved, record.detail
    assert record.usage is not None
    assert record.usage.llm_errors == {"rate_limit": 1}


# One of each way to fail: tests/models/test_provider_errors.py has what each status means, and
# tests/models/test_interface.py which of the kinds are an agent's own.
FAILURES = {
    "429 for ever": (for_ever(Fail(429, retry_after=0)), ModelErrorKind.RATE_LIMIT, "HTTP 429"),
    "cut answer": (for_ever(Cut()), ModelErrorKind.CUT_STREAM, ""),
    "reset": (for_ever(Reset()), ModelErrorKind.CONNECTION, ""),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_model_that_fails_for_good_is_the_reason_and_not_the_agents_fault(walled_attempt, name):
    script, kind, shown = FAILURES[name]
    record = walled_attempt(script, wire="anthropic-messages")
    assert (record.failure_reason, record.fault) == (
        FailureReason.LLM_ERROR,
        Fault.INFRASTRUCTURE,
    )
    assert f"{kind}, {shown}" in record.detail
    assert record.usage is not None
    assert set(record.usage.llm_errors) == {kind}


def test_an_agent_that_exits_0_when_its_key_is_refused_has_not_failed_the_tests(walled_attempt):
    line = f"{{ {command('openai-chat')}; }} || exit 0"
    record = walled_attempt(for_ever(Fail(401)), line=line)
    assert (record.failure_reason, record.fault) == (
        FailureReason.LLM_ERROR,
        Fault.INFRASTRUCTURE,
    )


@pytest.mark.parametrize(
    ("script", "kind"),
    [  # one that comes as an error, and one that comes as an answer
        (for_ever(Fail(400, ModelErrorKind.CONTEXT_LENGTH)), ModelErrorKind.CONTEXT_LENGTH),
        (for_ever(Say("no", refused=True)), ModelErrorKind.REFUSAL),
    ],
)
def test_what_an_agent_sends_itself_is_its_own_fault(walled_attempt, script, kind):
    record = walled_attempt(script)
    assert (record.failure_reason, record.fault) == (FailureReason.LLM_ERROR, Fault.AGENT)
    assert kind in record.detail


def test_an_agent_that_mends_the_bug_before_its_model_fails_has_mended_it(walled_attempt):
    assert walled_attempt([RUN_FIX, *[Fail(500)] * 3]).resolved


@one_back_end
def test_a_budget_that_is_spent_is_giving_up(attempt, tmp_path):
    record = attempt(
        for_ever(Say("run: true", Tokens(input=900, output=100))),
        agent="max_cost_usd = 2.5",
        prices=write_prices(tmp_path, 1000.0),
    )
    assert (record.failure_reason, record.fault) == (FailureReason.AGENT_GAVE_UP, Fault.AGENT)
    assert record.usage is not None
    assert record.usage.cost_usd == pytest.approx(3.0)
    assert "the budget was spent: 3 model requests" in record.detail


def test_an_agent_that_crashes_while_its_model_answers_is_itself_at_fault(walled_attempt):
    record = walled_attempt([DONE], line=f"{{ {command('openai-chat')}; }}; exit 9")
    assert (record.failure_reason, record.fault) == (FailureReason.TOOL_ERROR, Fault.AGENT)
    assert "exited 9" in record.detail


@one_back_end
def test_an_agent_that_hangs_is_out_of_time(attempt):
    line = f"{{ {command('openai-chat')}; }}; sleep 600"
    record = with_growing_limit(
        lambda seconds: attempt([DONE], line=line, agent=f"timeout_s = {seconds}"),
        lambda _: attempt.server.asked,
        limits=(6, 60),
    )
    assert (record.failure_reason, record.fault) == (FailureReason.TIMEOUT, Fault.AGENT)


def test_what_is_not_inference_is_refused_and_found(walled_attempt):
    line = f'python -c "{_UPLOAD}"; {command("openai-chat")}'
    record = walled_attempt([RUN_FIX, DONE], line=line)
    assert record.resolved, record.detail
    assert any(finding.rule.startswith("gateway") for finding in record.findings)
    assert not any(asked.path.endswith("/files") for asked in walled_attempt.server.requests)


_UPLOAD = (
    "import os, urllib.request as r; "
    "q = r.Request(os.environ['OPENAI_BASE_URL'] + '/files', b'x', "
    "{'authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}); r.urlopen(q)"
)
