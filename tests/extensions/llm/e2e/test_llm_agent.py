"""The loop, with real clients over real HTTP; each test on both wires."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.agents.interface import Budget
from agentbench.errors import LLMError
from agentbench.extensions.llm.agent import LlmAgent
from agentbench.models.interface import ApiFormat, ModelErrorKind
from agentbench.scoring.evidence import AgentEnding
from tests.extensions.llm.conftest import MODELS, budget_of
from tests.fakes.scripted_model import (
    Call,
    Calls,
    Cut,
    Fail,
    Hang,
    Reset,
    Say,
    ScriptedModel,
    Tokens,
    for_ever,
)
from tests.models.gateway.endpoint_clients import endpoint_to
from tests.models.raw import raw_call, raw_text
from tests.patience import with_growing_limit

pytestmark = pytest.mark.full

FIX = Call("edit", {"path": "code.py", "old_text": "x = 1", "new_text": "x = 2"})
MISS = Call("edit", {"path": "code.py", "old_text": "y", "new_text": "z"})
SUBMIT = Call("submit", {"summary": "x is 2 now"})
LOOK = Call("read_file", {"path": "code.py"})


@pytest.fixture(autouse=True)
def code(sandbox):
    file = Path(sandbox.workspace) / "code.py"
    file.write_text("x = 1\n")
    return file


def replies_of(asked):
    replies = []
    for turn in asked.turns:
        if turn["role"] == "tool":
            replies.append(turn["content"])
        elif turn["role"] == "user" and isinstance(turn["content"], list):
            replies += [
                part["content"] for part in turn["content"] if part["type"] == "tool_result"
            ]
    return replies


def last_words_of(asked):
    content = asked.turns[-1]["content"]
    return content if isinstance(content, str) else content[-1].get("text", "")


def test_tool_calls_run_until_the_submission(attempt, code):
    with attempt([LOOK, FIX, SUBMIT]) as (outcome, _, scripted):
        assert (outcome.ending, outcome.detail) == (AgentEnding.SUBMITTED, "")
        assert (outcome.steps, outcome.tool_calls, outcome.tool_errors_recovered) == (3, 3, 0)
        assert outcome.usage.requests == 3
        assert replies_of(scripted.asked[-1]) == [
            "code.py: lines 1-1 of 1\n     1\tx = 1",
            "code.py: replaced 1 occurrence",
        ]
    assert code.read_text() == "x = 2\n"


def test_prompt_has_report_tests_and_limits(attempt, problem):
    with attempt([SUBMIT], budget=budget_of(steps=7, seconds=600)) as (_, _, scripted):
        asked = scripted.asked[0]
    request = asked.raw.decode()
    assert problem.instruction.strip() in request
    assert "`pytest`" in request
    assert "at most 7 answers and 10 minutes" in request
    assert asked.tools == ["read_file", "edit", "run", "run_tests", "submit"]


def test_calls_in_one_answer_are_answered_in_order(attempt):
    calls = Calls([LOOK, Call("run", {"command": "ls"}), MISS, FIX])
    with attempt([calls, SUBMIT]) as (outcome, _, scripted):
        replies = replies_of(scripted.asked[-1])
    assert [text.partition(" ")[0] for text in replies] == [
        "code.py:",
        "[exit",
        "old_text",
        "code.py:",
    ]
    assert (outcome.steps, outcome.tool_calls, outcome.tool_errors_recovered) == (2, 5, 1)


def test_calls_after_a_submission_are_ignored(attempt, code):
    with attempt([Calls([SUBMIT, FIX])]) as (outcome, _, _):
        assert (outcome.ending, outcome.tool_calls) == (AgentEnding.SUBMITTED, 1)
    assert code.read_text() == "x = 1\n"


def test_submission_after_a_failed_call_is_refused(attempt):
    with attempt([Calls([MISS, SUBMIT]), SUBMIT]) as (outcome, _, scripted):
        assert "not submitted" in replies_of(scripted.asked[1])[1]
    assert (outcome.ending, outcome.steps) == (AgentEnding.SUBMITTED, 2)
    assert outcome.tool_errors_recovered == 2


def test_answer_without_a_call_is_reminded_of_the_tools(attempt):
    with attempt([FIX, Say("I think"), SUBMIT]) as (outcome, _, scripted):
        assert "called no tool" in last_words_of(scripted.asked[2])
    assert (outcome.ending, outcome.steps) == (AgentEnding.SUBMITTED, 3)


def test_silence_after_a_change_is_a_submission(attempt):
    with attempt([FIX, Say("done"), Say("really")]) as (outcome, _, _):
        assert outcome.ending is AgentEnding.SUBMITTED
    assert outcome.detail == (
        "stopped without `submit`: 2 answers in a row without a tool call, the last at step 3"
    )


def test_silence_without_a_change_is_giving_up(attempt):
    with attempt([LOOK, Say("too hard"), Say("")]) as (outcome, _, _):
        assert outcome.ending is AgentEnding.STEP_LIMIT
    assert outcome.detail.startswith("gave up, and changed nothing: 2 answers in a row")


def test_silence_is_counted_in_a_row(attempt):
    script = [Say("hm"), LOOK, Say("hm"), LOOK, Say("hm"), SUBMIT]
    with attempt(script) as (outcome, _, _):
        assert (outcome.ending, outcome.steps) == (AgentEnding.SUBMITTED, 6)


def test_cut_off_answer_gets_a_note(attempt, wire):
    script = [raw_text(wire, "long", cut_off=True), SUBMIT]
    with attempt(script) as (_, _, scripted):
        assert "cut off" in last_words_of(scripted.asked[1])


def test_cut_off_call_is_answered(attempt, wire):
    script = [raw_call(wire, "edit", '{"path": "co', cut_off=True), SUBMIT]
    with attempt(script) as (outcome, _, scripted):
        (said,) = replies_of(scripted.asked[1])
        assert said.startswith("invalid arguments: expected a JSON object: Unterminated string")
        assert "cut off" in last_words_of(scripted.asked[1])
    assert outcome.tool_errors_recovered == 1


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("read_file", "{", "invalid arguments: expected a JSON object: "),
        ("read_file", "[1]", "invalid arguments: expected a JSON object, found '[1]'"),
        ("read_file", '{"path": 3}', "invalid arguments: path: "),
        ("read_file", '{"path": "code.py", "line": 1}', "invalid arguments: line: no such"),
        ("read_file", "", "invalid arguments: path: Field required"),
        ("fly", "{}", "there is no tool 'fly'; known: read_file, "),
        ("", "{}", "there is no tool ''; known: "),
        ("a b/c" * 30, "{}", "there is no tool 'a b/c"),
    ],
)
def test_malformed_call_is_answered(attempt, wire, name, arguments, told):
    with attempt([raw_call(wire, name, arguments), SUBMIT]) as (outcome, _, scripted):
        assert outcome.ending is AgentEnding.SUBMITTED, outcome.detail
        (said,) = replies_of(scripted.asked[1])
        assert said.startswith(told)
    assert outcome.tool_errors_recovered == 1


def test_failed_steps_in_a_row_are_a_tool_error(attempt):
    with attempt([LOOK, MISS, Calls([MISS, MISS]), MISS, MISS, MISS]) as (outcome, _, scripted):
        assert outcome.ending is AgentEnding.TOOL_ERROR
        assert len(scripted.asked) == 6
    assert outcome.detail == (
        "tool error at step 6: edit: old_text does not occur in the file "
        "(calls failed at 5 steps in a row)"
    )
    assert (outcome.tool_calls, outcome.tool_errors_recovered) == (7, 0)


def test_success_resets_failed_steps(attempt):
    with attempt([MISS, MISS, LOOK, MISS, MISS, SUBMIT], failed_steps=3) as (outcome, _, _):
        assert outcome.ending is AgentEnding.SUBMITTED
    assert outcome.tool_errors_recovered == 4


def test_step_limit_is_named(attempt):
    with attempt(for_ever(LOOK), budget=budget_of(steps=3)) as (outcome, _, scripted):
        assert outcome.ending is AgentEnding.STEP_LIMIT
        assert len(scripted.asked) == 3
    assert outcome.detail == "not submitted after 3 steps, which is the limit"


def test_no_step_begins_after_the_time_limit(attempt):
    clock = iter([0.0] * 3 + [100.0] * 50)
    budget = Budget(
        timeout=timedelta(seconds=50),
        max_steps=9,
        max_cost_usd=1,
        clock=lambda: next(clock),
        started=0.0,
    )
    with attempt(for_ever(LOOK), budget=budget) as (outcome, _, _):
        assert outcome.ending is AgentEnding.TIME_LIMIT
    assert outcome.detail == "the 50 s were used up at step 1"


def test_hanging_model_ends_with_the_time_limit(attempt):
    def attempt_within(seconds):
        with attempt([LOOK, Hang()], budget=budget_of(seconds=seconds)) as (outcome, _, _):
            return seconds, outcome

    seconds, outcome = with_growing_limit(attempt_within, lambda ended: ended[1].steps == 2)
    assert outcome.ending is AgentEnding.TIME_LIMIT
    assert outcome.detail == f"the {seconds:g} s were used up at step 2"


def test_hanging_stream_ends_with_the_time_limit(attempt):
    with attempt([Hang(after_chunks=2)], budget=budget_of(seconds=2)) as (outcome, _, _):
        assert outcome.ending is AgentEnding.TIME_LIMIT


@pytest.mark.parametrize(
    "failure", [Fail(429, retry_after=0), Fail(500), Fail(503), Fail(529), Cut(), Reset()], ids=str
)
def test_failed_request_is_repeated(attempt, failure):
    with attempt([failure, LOOK, failure, SUBMIT]) as (outcome, pauses, scripted):
        assert (outcome.ending, outcome.steps) == (AgentEnding.SUBMITTED, 2)
        assert len(scripted.asked) == 4
    assert pauses == ([0.0, 0.0] if isinstance(failure, Fail) and failure.status == 429 else [2, 2])


@pytest.mark.parametrize("after_chunks", [None, 2])
def test_failing_model_is_an_llm_error(attempt, after_chunks):
    limited = Fail(429, retry_after=0, message="slow down", after_chunks=after_chunks)
    with attempt(lambda asked: limited if asked.answered_before else LOOK) as (
        outcome,
        _,
        scripted,
    ):
        assert outcome.ending is AgentEnding.LLM_ERROR
        assert len(scripted.asked) == 6
    status = 429 if after_chunks is None else 200
    assert outcome.detail == (
        f"LLM error at step 2: rate_limit, HTTP {status}, after 5 tries: slow down"
    )
    assert (outcome.steps, outcome.tool_calls) == (2, 1)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Fail(401), "auth, HTTP 401"),
        (Fail(404), "unknown_model, HTTP 404"),
        (Fail(400, message="no such field"), "malformed, HTTP 400"),
        (Fail(402), "quota, HTTP 402"),
    ],
)
def test_permanent_failure_is_not_repeated(attempt, failure, kind):
    with attempt(for_ever(failure)) as (outcome, pauses, scripted):
        assert outcome.ending is AgentEnding.LLM_ERROR
        assert outcome.detail.startswith(f"LLM error at step 1: {kind}, after 1 try")
        assert (len(scripted.asked), pauses) == (1, [])


def test_pause_beyond_the_budget_is_not_begun(attempt):
    with attempt(for_ever(Fail(429, retry_after=3600))) as (outcome, pauses, _):
        assert outcome.ending is AgentEnding.LLM_ERROR
        assert "rate_limit, HTTP 429, after 1 try" in outcome.detail
        assert pauses == []


# The HTTP library leaves a socket that cannot connect to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_closed_socket_is_an_llm_error(problem, sandbox, tmp_path, wire):
    with ScriptedModel([]) as scripted:
        with endpoint_to(scripted, tmp_path / "log", model=MODELS[wire]) as door:
            pass
        outcome = LlmAgent(sleep=[].append).solve(problem, sandbox, budget_of(), door)
    assert outcome.ending is AgentEnding.LLM_ERROR
    assert outcome.detail.startswith("LLM error at step 1: connection, no answer, after 5 tries")


def test_refusal_is_an_llm_error(attempt):
    with attempt([LOOK, Say("I will not", refused=True)]) as (outcome, _, _):
        assert outcome.ending is AgentEnding.LLM_ERROR
        assert outcome.detail.startswith(
            "LLM error at step 2: refusal, HTTP 200, the model declined"
        )


@pytest.mark.parametrize("model", ["gpt-5", "claude-sonnet-5"])
def test_spent_budget_is_a_cost_limit(attempt, model):
    dear = Call("read_file", {"path": "code.py"}, tokens=Tokens(200_000, 10_000))
    with attempt(for_ever(dear), model=model, spend=1.0) as (outcome, pauses, scripted):
        assert outcome.ending is AgentEnding.COST_LIMIT
        assert outcome.detail.startswith("the budget of $2.00 was used up at step ")
        assert f": ${outcome.usage.cost_usd:.4f} spent" in outcome.detail
        assert outcome.usage.cost_usd >= 1.0
        assert len(scripted.asked) == outcome.steps - 1
        assert pauses == []


def test_too_long_conversation_is_shortened_once(attempt, code):
    code.write_text("x = 1\n" * 800)
    too_long = Fail(400, ModelErrorKind.CONTEXT_LENGTH)
    with attempt([LOOK, LOOK, LOOK, LOOK, too_long, SUBMIT]) as (outcome, _, scripted):
        assert outcome.ending is AgentEnding.SUBMITTED, outcome.detail
        before, after = scripted.asked[4:]
    assert len(after.raw) < 0.7 * len(before.raw)
    assert replies_of(after)[0].endswith("left out here to save room; call again if needed]")


def test_conversation_that_stays_too_long_is_an_llm_error(attempt):
    with attempt(for_ever(Fail(400, ModelErrorKind.CONTEXT_LENGTH))) as (outcome, _, scripted):
        assert outcome.ending is AgentEnding.LLM_ERROR
        assert "context_length, HTTP 400" in outcome.detail
        assert len(scripted.asked) == 2


def test_old_output_is_dropped_before_the_window_is_full(attempt, code, problem):
    code.write_text("some words that fill a line of code\n" * 700)
    script = [LOOK] * 12 + [SUBMIT]
    with attempt(script) as (outcome, _, scripted):
        assert outcome.ending is AgentEnding.SUBMITTED
        assert max(len(asked.raw) for asked in scripted.asked) < 3 * 32_768
        last = scripted.asked[-1]
    replies = replies_of(last)
    assert "left out here" in replies[0]
    assert replies[-1].startswith("code.py: lines")
    assert problem.instruction.strip() in last.raw.decode()


def test_missing_model_raises(problem, sandbox):
    with pytest.raises(LLMError, match="needs a model, found none: give --model"):
        LlmAgent().solve(problem, sandbox, budget_of(), None)


def test_unsupported_api_format_raises(problem, sandbox, tmp_path):
    with ScriptedModel([]) as scripted, endpoint_to(scripted, tmp_path / "log") as door:
        other = replace(door, api_formats=(ApiFormat.GEMINI_GENERATE,))
        with pytest.raises(LLMError, match="supports openai-chat or anthropic-messages"):
            LlmAgent().solve(problem, sandbox, budget_of(), other)


def test_usage_equals_the_model_s_counts(attempt):
    script = [Call("run", {"command": "ls"}, tokens=Tokens(1000, 50, cached=300)), SUBMIT]
    with attempt(script) as (outcome, _, scripted):
        told = scripted.told
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (told.input, told.output)
    assert outcome.usage.cached_tokens == 300
