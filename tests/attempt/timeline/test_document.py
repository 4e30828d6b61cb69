"""What a timeline says of the states between those that were judged."""

from datetime import UTC, datetime, timedelta

import pytest

from agentbench.attempt.timeline.document import JudgedState, NotedState, Timeline
from agentbench.scoring.evidence import NodeId

START = datetime(2026, 11, 29, tzinfo=UTC)


def timeline(states: str, judged: str) -> Timeline:
    """States by letter; a capital one is resolved."""
    return Timeline(
        noted=tuple(
            NotedState(at=START + timedelta(seconds=n), state=state.lower())
            for n, state in enumerate(states)
        ),
        judged=tuple(
            JudgedState(
                state=state.lower(),
                resolved=state.isupper(),
                passed=(NodeId("t"),) if state.isupper() else (),
            )
            for state in judged
        ),
    )


@pytest.mark.parametrize(
    ("states", "judged", "solved", "lost"),
    [
        ("aB", "aB", 1, None),
        ("ab", "ab", None, None),
        ("aBc", "aBc", 1, 2),
        ("aBcB", "aBc", 1, 2),
        ("aBCDe", "aBDe", 1, 4),  # c lies between two that are solved
        ("abCD", "aCD", 2, None),  # b lies between two that differ
        ("A", "A", 0, None),
        ("", "", None, None),
    ],
)
def test_first_solved_and_lost_again(
    states: str, judged: str, solved: int | None, lost: int | None
) -> None:
    found = timeline(states, judged)
    assert (found.first_solved, found.lost_again) == (solved, lost)


def test_state_between_two_that_differ_is_unknown() -> None:
    assert timeline("abC", "aC").judged_at(1) is None
