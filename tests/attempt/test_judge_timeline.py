"""Which states are judged, so that each change of the outcome is placed."""

import random
from pathlib import PurePosixPath

import pytest

from agentbench.attempt.judge_timeline import all_changes_placed, emptied_folders, judge_states
from agentbench.attempt.timeline.document import JudgedState
from agentbench.core.files import FileContent
from agentbench.integrity.trees import EntryKind, TreeEntry


def judged(outcomes: list[int], most: int) -> tuple[list[int], list[str]]:
    """The outcomes that the judged states give for all states, and the judged states."""
    states = [str(number) for number in range(len(outcomes))]
    asked: list[str] = []

    def judge_one(state: str) -> JudgedState:
        asked.append(state)
        passed = tuple(f"t{n}" for n in range(outcomes[int(state)]))
        return JudgedState(state=state, resolved=False, passed=passed)

    *_, last_judged = [], *judge_states(states, judge_one, most)
    found = {int(each.state): len(each.passed) for each in last_judged}
    placed, last = [], 0
    for number in range(len(states)):
        last = found.get(number, last)
        placed.append(last)
    return placed, asked


@pytest.mark.parametrize("seed", range(30))
def test_each_change_of_the_outcome_is_placed(seed: int) -> None:
    rng = random.Random(seed)
    length = rng.randint(2, 60)
    at = rng.randint(1, length - 1)  # fixed there, and for good
    outcomes = [0] * at + [2] * (length - at)
    placed, asked = judged(outcomes, 12)
    assert placed == outcomes
    assert len(asked) <= 12


def test_work_that_was_lost_and_found_again_is_searched_with_what_is_left() -> None:
    outcomes = [0, 0, 2, 2, 2, 1, 1, 2, 2, 2, 2]
    placed, asked = judged(outcomes, 12)
    assert placed == outcomes
    assert asked[:2] == ["0", "10"]


def test_no_more_states_than_allowed_are_judged_and_none_twice() -> None:
    _, asked = judged([n % 2 for n in range(100)], 12)
    assert len(asked) == len(set(asked)) == 12


@pytest.mark.parametrize("length", [0, 1, 2])
def test_few_states_are_all_judged(length: int) -> None:
    _, asked = judged([1] * length, 12)
    assert len(asked) == length


@pytest.mark.parametrize(
    ("removed", "written", "emptied"),
    [
        (["a/b/x", "a/y"], [], ["a", "a/b"]),
        (["a/b/x"], [], ["a/b"]),
        (["a/b/x", "a/y"], ["a/b/new"], []),
        (["a/b/x", "a/y"], ["a"], ["a", "a/b"]),
        ([], ["a/new"], []),
    ],
)
def test_folders_whose_files_are_all_gone_are_emptied(
    removed: list[str], written: list[str], emptied: list[str]
) -> None:
    kinds = dict.fromkeys(("a", "a/b", "empty"), EntryKind.FOLDER)
    kinds |= dict.fromkeys(("a/b/x", "a/y"), EntryKind.FILE)
    base = {PurePosixPath(path): TreeEntry(kind=kind) for path, kind in kinds.items()}
    files: dict[PurePosixPath, FileContent | None] = {PurePosixPath(path): None for path in removed}
    files |= {PurePosixPath(path): FileContent(content=b"", executable=False) for path in written}
    assert sorted(map(str, emptied_folders(files, base))) == emptied


@pytest.mark.parametrize(
    ("states", "solved_when_judged", "placed"),
    [
        ("abc", {"a": False, "b": False, "c": True}, True),
        ("abc", {"a": False, "c": True}, False),
        ("abc", {"a": True, "c": True}, True),
        ("aba", {"a": False, "b": True}, True),
    ],
)
def test_change_between_states_that_were_not_judged_is_not_placed(
    states: str, solved_when_judged: dict[str, bool], placed: bool
) -> None:
    found = [JudgedState(state=each, resolved=is_) for each, is_ in solved_when_judged.items()]
    assert all_changes_placed(states, found) == placed
