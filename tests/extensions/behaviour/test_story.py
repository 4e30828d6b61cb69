"""The sentences about an attempt."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from agentbench.attempt.record import AgentRecord, UsageRecord
from agentbench.attempt.timeline.document import JudgedState, NotedState, Timeline
from agentbench.extensions.behaviour.rules import behaviour_of
from agentbench.extensions.behaviour.story import story_of
from agentbench.scoring.evidence import AgentEnding, CaseOutcome, NodeId
from tests.e2e.small_task import patch_of
from tests.extensions.behaviour.attempt_facts import (
    FAILED,
    PASSED,
    UNFINISHED,
    facts_of,
    record_with,
)

START = datetime(2026, 11, 29, tzinfo=UTC)


def story(*given, **more) -> list[str]:
    facts = facts_of(*given, **more)
    return list(story_of(facts, behaviour_of(facts)))


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        ((PASSED, FAILED, PASSED), "In the end, 1 of the 2 tests to fix passed."),
        ((FAILED, FAILED, PASSED), "In the end, none of the 2 tests to fix passed."),
        (
            (PASSED, UNFINISHED, PASSED),
            "In the end, 1 of the 2 tests to fix passed, and 1 did not finish.",
        ),
        ((FAILED, PASSED), "The test to fix did not pass in the end."),
    ],
)
def test_story_says_how_many_tests_to_fix_passed(
    outcomes: tuple[CaseOutcome, ...], sentence: str
) -> None:
    assert sentence in story(record_with(*outcomes, is_sealed=True))


def test_files_are_told_in_the_order_of_their_edits() -> None:
    patch = patch_of("a.py", "x = 1\n", "x = 2\n") + patch_of("b.py", "x = 1\n", "x = 2\n")
    lines = ("sed -i 's/1/2/' b.py", "sed -i 's/1/2/' a.py")
    assert story(patch=patch, lines=lines)[:2] == [
        "It edited b.py at step 1.",
        "It edited a.py at step 2.",
    ]


@pytest.mark.parametrize(
    ("lines", "answer", "sentence"),
    [
        (("pytest",), "1 passed", "It ran tests once, at step 1; they passed."),
        (("pytest", "ls", "pytest"), "1 failed",
         "It ran tests 2 times; the last run, at step 3, failed."),
        (("pytest",), "", "It ran tests once, at step 1; the output does not tell the result."),
    ],
)  # fmt: skip
def test_story_tells_the_last_test_run(lines: tuple[str, ...], answer: str, sentence: str) -> None:
    assert sentence in story(lines=lines, answer=answer)


def test_end_tells_what_stopped_the_agent_and_what_it_had_spent() -> None:
    record = record_with(
        FAILED,
        PASSED,
        is_sealed=True,
        agent_run=AgentRecord(ending=AgentEnding.COST_LIMIT),
        usage=UsageRecord(cost_usd=0.5),
    )
    sentences = story(record, lines=("ls",))
    end = "The cost limit stopped it after less than a second, 1 model answer and $0.50."
    assert end in sentences


def test_story_without_steps_tells_when_the_solution_was_lost_and_what_failed_since() -> None:
    states = [NotedState(at=START + timedelta(seconds=5 * n), state=str(n)) for n in range(3)]
    judged = [
        JudgedState(state="0", resolved=False),
        JudgedState(state="1", resolved=True, passed=(NodeId("t.py::a"),)),
        JudgedState(state="2", resolved=False),
    ]
    facts = facts_of(record_with(FAILED, PASSED, is_sealed=True))
    timeline = Timeline(noted=tuple(states), judged=tuple(judged))
    sentences = list(story_of(replace(facts, timeline=timeline), behaviour_of(facts)))
    at = sentences.index("They no longer did after 10 s.")
    assert sentences[at - 1 : at + 2] == [
        "All tests that decide passed after 5 s.",
        "They no longer did after 10 s.",
        "Since then, t.py::a failed.",
    ]
