"""What changed tests observed in two trees, and where they observed something else."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentbench.symbolic.mounted.agentbench_mounted.messages import Observation
from agentbench.symbolic.mounted.agentbench_mounted.outcomes import (
    CONTRACT,
    differ,
    says_something,
    words,
)

Observations = dict[str, list[Observation]]
"""Observations by the test's node id, in their order."""

_KINDS = frozenset(("returns", "raises", "timeout"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedDifference:
    """A test that saw something else: the place, and what both did, in words."""

    test: str
    at: int  # -1: how the test ended
    position: int  # among the test's observations
    reference: str
    agents: str


def read_observations(text: str) -> Observations:
    """Read the plugin's file without malformed lines: an agent's code could write to it."""
    found: Observations = {}
    for line in text.splitlines():
        step = _parse_observation(line)
        if step is not None:
            found.setdefault(step["test"], []).append(step)
    return found


def differing(
    reference: Sequence[Observations], agents: Sequence[Observations]
) -> Iterator[ObservedDifference]:
    """The tests in which the first difference counts: each tree agrees with itself up to there."""
    for test in reference[0]:
        if all(test in observed for observed in (*reference, *agents)):
            try:
                left, right = ([one[test] for one in runs] for runs in (reference, agents))
                found = _first_difference(test, left, right)
            except (TypeError, ValueError, LookupError, RecursionError):
                continue  # values that the plug-in did not write: an agent's code did
            if found is not None:
                yield found


def observation_text_at(observed: Observations, found: ObservedDifference) -> str:
    """What a tree did at the place of a difference, in words."""
    steps = observed.get(found.test, [])
    return words(steps[found.position]) if found.position < len(steps) else "does not get there"


def _first_difference(
    test: str, left: list[list[Observation]], right: list[list[Observation]]
) -> ObservedDifference | None:
    for position, step in enumerate(left[0]):
        if not says_something(step, errors=CONTRACT, inferred=True):
            return None
        others = [steps[position] if position < len(steps) else None for steps in right]
        if not _agree(step, left, position) or others[0] is None or None in others:
            return None
        if _is_other(step, others[0]):
            agreed = all(other and _is_other(step, other) for other in others)
            if not agreed or not _agree(others[0], right, position):
                return None
            return ObservedDifference(
                test=test,
                at=step["at"],
                position=position,
                reference=words(step),
                agents=words(others[0]),
            )
    return None


def _agree(step: Observation, runs: Iterable[list[Observation]], position: int) -> bool:
    for steps in runs:
        if position >= len(steps):
            return False
        other = steps[position]
        if other["at"] != step["at"] or _is_unlike(step, other):
            return False
    return True


def _is_other(step: Observation, other: Observation) -> bool:
    if other["at"] != step["at"] and other["kind"] == "returns":
        return False  # it went another way: what it sees there cannot be compared
    return differ(step, other, errors=CONTRACT, inferred=True)


def _is_unlike(step: Observation, other: Observation) -> bool:
    return bool(
        step["kind"] != other["kind"] or differ(step, other, errors=CONTRACT, inferred=False)
    )


def _parse_observation(line: str) -> Observation | None:
    try:
        step = json.loads(line)
    except ValueError:
        return None
    if isinstance(step, dict) and _is_well_formed(step):
        return cast("Observation", step)
    return None


def _is_well_formed(step: dict[str, Any]) -> bool:
    if step.get("kind") not in _KINDS or not isinstance(step.get("test"), str):
        return False
    if not isinstance(step.get("at"), int) or not isinstance(step.get("seconds"), int | float):
        return False
    if step["kind"] == "raises":
        names = [step.get("type"), step.get("text"), *(step.get("mro") or [None])]
        return all(isinstance(name, str) for name in names) and "explicit" in step
    return step["kind"] == "timeout" or _is_value_form(step.get("form"))


def _is_value_form(form: object) -> bool:
    return isinstance(form, list) and bool(form) and isinstance(form[0], str)
