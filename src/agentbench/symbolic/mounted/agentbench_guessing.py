"""Types that nobody wrote down, guessed by trying: with a wrong one the reference fails."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

_COMBINATIONS = 60
_SAMPLES = 6


def guess(
    open_ones: list[dict[str, Any]],
    described: dict[str, Any],
    sides: Any,
    known: Any,
    guesses: tuple[dict[str, Any], ...],
) -> None:
    """Set the types that the reference works best with; several where they do as well."""
    same_first = sorted(
        itertools.islice(itertools.product(guesses, repeat=len(open_ones)), 20_000),
        key=lambda kinds: len({one["t"] for one in kinds}),
    )
    rated = [
        (_works(open_ones, kinds, described, sides, known), kinds)
        for kinds in same_first[:_COMBINATIONS]
    ]
    best = max(rate for rate, _kinds in rated)
    chosen = [kinds for rate, kinds in rated if rate == best][:3]
    for at, one in enumerate(open_ones):
        one["type"] = {"t": "union", "of": _distinct([kinds[at] for kinds in chosen])}


def _distinct(kinds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for at, one in enumerate(kinds) if one not in kinds[:at]]


def _works(
    open_ones: list[dict[str, Any]],
    kinds: tuple[dict[str, Any], ...],
    described: dict[str, Any],
    sides: Any,
    known: Any,
) -> float:
    """The share of inputs of some types on which the reference does not fail for their type."""
    from agentbench_inputs import NoInputsError, programs

    for one, kind in zip(open_ones, kinds, strict=True):
        one["type"] = kind
    worked: list[bool] = []

    try:
        strategy = programs(described, known)
    except NoInputsError:
        return 0.0

    @seed(0)
    @settings(
        max_examples=_SAMPLES,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def attempt(program: list[str]) -> None:
        worked.append(sides.works(program))

    attempt()
    return sum(worked) / len(worked) if worked else 0.0
