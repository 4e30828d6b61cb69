"""Causes that need no run; tests/e2e/test_failure_causes.py makes real attempts of each kind."""

import io
from pathlib import Path

import pytest
from hypothesis import given

from agentbench.attempt.record import PatchRecord, UsageRecord
from agentbench.core.display_text import printable
from agentbench.errors import GitCloneError, GitCloneTimeoutError, RunCancelled
from agentbench.integrity.records import DroppedPath
from agentbench.report.attempt_files import AttemptFiles, files_in
from agentbench.report.cause_text import cause_text
from agentbench.report.failure_cause import find_cause
from agentbench.scoring.classification import exception_fact
from agentbench.scoring.evidence import (
    AgentEnding,
    CaseOutcome,
    Ending,
    Evidence,
    RewardFacts,
    ScriptTest,
)
from agentbench.taxonomy import StageName
from tests.runs.records import failed, record_of, records, resolved
from tests.scoring import strategies

NO_FILES = files_in(Path("nowhere"))


def holding(**files):
    """Files of an attempt, by their names with `_` for `.`, and those of stages by `log`."""
    named = {name.replace("_", "."): text for name, text in files.items() if name != "log"}
    named |= {f"stages/{stage}.log": files.get("log", "") for stage in StageName}

    def opened(name):
        return io.BytesIO(named[name].encode()) if named.get(name) else None

    return AttemptFiles(open=opened)


def cause_of(record, files=NO_FILES):
    cause = find_cause(record, files)
    assert cause is not None
    return cause


def ended(stage="setup", **more):
    """A record whose last stage ended like this."""
    return record_of((strategies.stage(stage, Evidence(**more)),))


def test_a_resolved_attempt_has_no_cause():
    assert find_cause(resolved(), NO_FILES) is None


@given(records())
def test_any_failed_record_has_a_cause_that_is_safe_to_print(record):
    cause = find_cause(record, NO_FILES)
    assert (cause is None) == record.resolved
    if cause is not None:
        text = "\n".join(cause_text(cause))
        assert cause.summary.strip(".")
        assert printable(text, newlines=True) == text


def test_without_a_report_the_record_names_the_test():
    cause = cause_of(failed())
    assert cause.summary == f"{strategies.A} still fails."
    assert cause.touched.lines == ()


def test_a_malformed_report_counts_as_none():
    for text in ("{", "[]", '{"tests": [{"node_id": 1}]}'):
        assert cause_of(failed(), holding(final_json=text)) == cause_of(failed())


@pytest.mark.parametrize(
    ("command", "summary"),
    [
        (strategies.command(None, Ending.LOST),
         "The sandbox or its engine went away during setup."),
        (strategies.command(None, Ending.OUT_OF_DISK, exceeded="64 MiB"),
         "The set-up command exceeded the disk limit of 64 MiB."),
        (strategies.command(None, Ending.KILLED, signal=9),
         "The set-up command was killed by signal 9 (SIGKILL)."),
        (strategies.command(None, Ending.KILLED),
         "The set-up command was killed by an unknown signal."),
    ],
)  # fmt: skip
def test_the_end_of_a_command_is_said_in_words(command, summary):
    assert cause_of(ended(command=command)).summary == summary


def test_the_last_lines_of_a_log_come_without_their_times():
    log = "".join(f"[{n:9.3f} stdout] line {n}\n\n" for n in range(9))
    cause = cause_of(ended(command=strategies.command(3)), holding(log=log))
    assert cause.output == tuple(f"line {n}" for n in range(3, 9))


def test_output_that_the_sentence_repeats_is_left_out():
    fact = exception_fact(StageName.GIT_CLONE, GitCloneError("exited 1:\nno network"))
    log = "fetching\nno network\n"
    cause = cause_of(ended("git_clone", exception=fact), holding(log=log))
    assert cause.summary == "The clone failed: exited 1: no network."
    assert cause.output == ("fetching",)


def test_an_exception_of_a_deadline_says_so():
    fact = exception_fact(StageName.GIT_CLONE, GitCloneTimeoutError("still running after 2 s"))
    summary = cause_of(ended("git_clone", exception=fact)).summary
    assert summary == "The clone ran out of time: still running after 2 s."


@pytest.mark.parametrize("stage", ["setup", "agent_run"])
def test_a_cancelled_run_is_nobodys_failure(stage):
    cause = cause_of(ended(stage, exception=exception_fact(StageName(stage), RunCancelled())))
    assert cause.summary == f"The run was cancelled during {stage.replace('_', ' ')}."


def test_a_models_failure_comes_with_its_unanswered_requests():
    usage = UsageRecord(llm_errors={"timeout": 1, "rate_limit": 2})
    record = ended("agent_run", agent=AgentEnding.LLM_ERROR, agent_detail="429 for ever")
    cause = cause_of(record.replace(usage=usage))
    assert cause.summary == "The agent's model failed: 429 for ever."
    assert cause.notes == ("Requests without an answer: rate_limit x2, timeout x1.",)


def test_a_change_that_is_not_judged_at_all_is_told():
    dropped = (DroppedPath(path="conftest.py", why="protected"),)
    patch = PatchRecord(
        path="patch.diff", sha256="0", files=0, insertions=0, deletions=0, dropped=dropped
    )
    notes = cause_of(failed(patch=patch)).notes
    assert notes[-1] == "The agent changed only files that are not judged: conftest.py (protected)."


def test_a_script_that_judges_is_quoted():
    final = Evidence(
        command=strategies.command(1, stdout="checked\n"),
        rewards=RewardFacts(rewards={"reward": 0}),
    )
    expected = strategies.expecting().replace(reward_above=0.5)
    cause = cause_of(record_of(strategies.attempt(final), expected))
    assert cause.summary == (
        "The task's own script did not accept the change: reward 0 is not above 0.5."
    )
    assert cause.output == ("checked",)


def test_the_failed_tests_of_a_script_are_named():
    tests = (
        ScriptTest(node_id="cart > adds", outcome=CaseOutcome.PASSED),
        ScriptTest(node_id="cart > counts", outcome=CaseOutcome.FAILED, message="3 != 2"),
        ScriptTest(node_id="cart > ends", outcome=CaseOutcome.UNFINISHED),
    )
    final = Evidence(
        command=strategies.command(1), rewards=RewardFacts(rewards={"reward": 0}, tests=tests)
    )
    record = record_of(strategies.attempt(final), strategies.expecting().replace(reward_above=0.5))
    assert cause_of(record).notes[0] == (
        "By its report cart > counts failed: 3 != 2, and 1 more test."
    )
