"""What changed tests saw: a difference counts where each tree agrees with itself."""

import json

from agentbench.extensions.symbolic.differential.changed_test_search import (
    Observations,
    ObservedDifference,
    differing,
    observation_text_at,
    read_observations,
)

TEST = "tests/test_x.py::test_a__as_0"


def returns(value: int, at: int = 0) -> dict[str, object]:
    form = ["number", str(value)]
    step = {"at": at, "kind": "returns", "form": form, "text": str(value), "seconds": 0.0}
    return {"test": TEST, **step}


def raises(name: str, *, explicit: bool, at: int = 0) -> dict[str, object]:
    error = {"type": name, "mro": [name], "explicit": explicit, "text": f"{name}: no"}
    return {"test": TEST, "at": at, "kind": "raises", "seconds": 0.0, **error}


def timeout() -> dict[str, object]:
    return {"test": TEST, "at": -1, "kind": "timeout", "seconds": 2.0}


def observed(*steps: dict[str, object]) -> Observations:
    return read_observations("\n".join(json.dumps(step) for step in steps))


def compared(left: Observations, right: Observations) -> list[ObservedDifference]:
    return list(differing([left, left], [right, right]))


def test_first_differing_value_is_reported() -> None:
    left, right = observed(returns(1), returns(2, 1)), observed(returns(1), returns(3, 1))
    (found,) = compared(left, right)
    assert (found.at, found.reference, found.agents) == (1, "returns 2", "returns 3")
    assert observation_text_at(observed(returns(1), returns(9, 1)), found) == "returns 9"
    assert observation_text_at(observed(returns(1)), found) == "does not get there"


def test_unstable_behavior_is_no_difference() -> None:
    one, other, third = observed(returns(1)), observed(returns(2)), observed(returns(3))
    assert list(differing([one, other], [third, third])) == []
    assert list(differing([one, one], [third, other])) == []
    assert list(differing([one, one], [third, one])) == []


def test_nothing_after_an_internal_error_of_the_reference_is_compared() -> None:
    left = observed(returns(1), raises("AttributeError", explicit=False, at=-1))
    assert compared(left, observed(returns(1), returns(5, -1))) == []
    assert len(compared(left, observed(returns(2), returns(5, -1)))) == 1


def test_declared_error_in_a_changed_test_is_compared() -> None:
    left = observed(raises("ValueError", explicit=True))
    assert len(compared(left, observed(returns(1)))) == 1
    assert len(compared(left, observed(raises("KeyError", explicit=True)))) == 1
    assert compared(left, observed(raises("ValueError", explicit=False))) == []


def test_endless_test_differs_from_a_fast_one() -> None:
    (found,) = compared(observed(returns(0, -1)), observed(timeout()))
    assert found.agents == "does not end within 2 s"
    assert compared(observed(timeout()), observed(returns(0, -1))) == []


def test_observations_at_other_places_are_not_compared() -> None:
    assert compared(observed(returns(1, 0)), observed(returns(2, 5))) == []


def test_foreign_lines_of_a_recording_are_skipped() -> None:
    rubbish = ["{", "[]", '{"test": 3}', json.dumps({"test": TEST, "kind": "returns", "at": "x"})]
    rubbish.append(json.dumps({**returns(1), "form": []}))
    rubbish.append(json.dumps({**raises("E", explicit=True), "mro": [3]}))
    assert read_observations("\n".join(rubbish)) == {}


def test_malformed_values_are_no_difference() -> None:
    broken = {**returns(1), "form": ["fields", "X", 3]}
    other = {**returns(1), "form": ["fields", "X", {"a": 1}]}
    assert compared(observed(other), observed(broken)) == []
