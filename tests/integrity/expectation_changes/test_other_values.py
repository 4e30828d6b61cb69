import builtins
import math
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.expectation_changes.other_values import (
    FAR,
    Distance,
    other_error,
    other_pattern,
    other_value,
)
from tests.integrity.expectation_changes.test_disguise import SCALARS


@given(SCALARS, st.randoms(use_true_random=False))
def test_changed_value_is_another_one_of_the_same_kind(value: object, rng: Random):
    new = other_value(value, rng)
    assert new != value
    assert type(new) is (bool if value is None else type(value))


@given(st.integers(), st.randoms(use_true_random=False))
def test_neighbours_are_avoided(value: int, rng: Random):
    near = [value + step for step in range(-3, 4)]
    assert other_value(value, rng, avoid=near) not in near


@given(
    st.floats(allow_nan=False, min_value=-1e12, max_value=1e12) | st.integers(-(10**9), 10**9),
    st.sampled_from([1e-6, 0.01, 0.1]),
    st.sampled_from([0.0, 1e-12, 0.5, 3.0]),
    st.randoms(use_true_random=False),
)
def test_numbers_leave_their_tolerance_clearly(
    value: float, relative: float, absolute: float, rng: Random
):
    new = other_value(value, rng, Distance(relative=relative, absolute=absolute))
    assert isinstance(new, int | float)
    off = value * (1 + relative) + absolute  # what the code gives may be off itself
    assert not math.isclose(off, new, rel_tol=relative, abs_tol=absolute)
    assert not math.isclose(value, new, rel_tol=relative, abs_tol=absolute)


@given(st.integers(1001, 99_998), st.randoms(use_true_random=False))
def test_a_changed_number_keeps_its_form(value: int, rng: Random):
    # A cheat that looks for numbers of this form must find the changed ones, too.
    assert len(str(other_value(value, rng))) == len(str(value))
    assert re.fullmatch(r"<[1-9]\d+>", str(other_value(f"<{value}>", rng)))
    assert len(str(other_value(f"<{value}>", rng))) == len(f"<{value}>")


@given(st.integers(1001, 4000), st.randoms(use_true_random=False))
def test_number_far_away_keeps_its_digits_where_it_can(value: int, rng: Random):
    assert len(str(other_value(value, rng, FAR))) == 4


@given(st.text(max_size=8), st.randoms(use_true_random=False))
def test_far_text_is_no_part_of_the_old_one(value: str, rng: Random):
    new = other_value(value, rng, FAR)
    assert isinstance(new, str)
    assert new not in value * 3


def test_far_number_is_in_no_likely_range():
    assert all(abs(other_value(seed, Random(seed), FAR) - seed) > 2999 for seed in range(50))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("refused: no", "it was refused: no"),
        (r"^3 is odd$", "3 is odd"),
        (r"no \(really\)", "no (really)"),
        ("leased", "leased leased"),
        (r"re\w+d: .*", "refused: no"),
        ("ab", "ab ab"),
        ("", "anything"),
        ("[a-c]+$", "abc"),
    ],
)
def test_changed_pattern_does_not_match(pattern: str, text: str):
    assert re.search(pattern, text)
    for seed in range(60):
        new = other_pattern(pattern, Random(seed))
        assert new is not None
        assert not re.search(new, text)


@pytest.mark.parametrize("pattern", ["a|b", "(?i)text.", "[", "(?P<a>.)"])
def test_pattern_that_is_not_understood_is_left_alone(pattern: str):
    assert other_pattern(pattern, Random(1)) is None


@pytest.mark.parametrize(
    "names",
    [("ValueError",), ("KeyError", "TypeError"), ("OwnError",), ("Exception",), ("LookupError",)],
    ids="-".join,
)
def test_changed_error_is_unrelated(names: tuple[str, ...]):
    for seed in range(20):
        new = getattr(builtins, other_error(names, Random(seed)) or "")
        for name in names:
            known = getattr(builtins, name, OSError)
            assert not issubclass(new, known)
            assert not issubclass(known, new)


def test_warning_becomes_another_warning():
    assert (other_error(["DeprecationWarning"], Random(1)) or "").endswith("Warning")


@pytest.mark.parametrize("name", ["BaseException", "KeyboardInterrupt", "SystemExit", "Warning"])
def test_error_that_would_end_the_run_or_has_no_like_is_left_alone(name: str):
    assert other_error([name], Random(1)) is None
