"""The search for inputs on which a survivor differs, in real sandboxes."""

import pytest

from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.core.extensions import Slot, offers
from agentbench.core.host import default_cache_dir
from agentbench.extensions.test_quality.input_search import search_evidence
from agentbench.validation.mutation_results import EvidenceKind, score_lines
from tests.e2e.small_task import FIXED
from tests.extensions.test_quality.test_mutation_measurement import (
    change_to,
    measured,
    settings,
    with_solution,
)
from tests.extensions.test_quality.test_stronger_tests import weak_task
from tests.fakes.staging import Desk, local_provider, prepare, small_task, staged
from tests.patience import with_growing_limit

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        "inputs" not in offers(Slot.CHANGE_COMPARISON), reason="no extension searches for inputs"
    ),
]

EQUAL = FIXED.replace("sum(prices)", "sum(prices) if prices else 0")
"""A fix of which a mutant is equal in truth: without the `else`."""


def test_survivor_that_differs_on_an_input_is_a_certified_wrong_fix(tmp_path):
    def searched(seconds):
        return measured(weak_task(tmp_path / f"{seconds}"), settings(search_seconds=seconds))

    score = with_growing_limit(searched, lambda score: score.certified, limits=(60, 240))
    (certified,) = score.certified
    assert certified.change.added == "result = 1"
    called = [sign for sign in certified.evidence if sign.where == "basket.py::total"]
    assert {sign.kind for sign in certified.evidence} == {EvidenceKind.INPUT}
    assert called[0].what.startswith("differs from the reference on total([")
    assert "; the reference returns " in called[0].what
    assert f"  basket.py::total: {called[0].what}" in list(score_lines(score))


def test_survivor_that_is_equal_in_truth_is_not_certified(tmp_path):
    score = measured(with_solution(tmp_path / "task", EQUAL), settings(search_seconds=30))
    assert [one.change.what for one in score.survivors] == ["else left out"]
    assert score.certified == ()
    assert score.search == "1 survivor compared with the reference, 30 s each"


def test_survivors_beyond_the_limit_are_counted(tmp_path):
    task = small_task(tmp_path / "task")
    provider = local_provider()
    resources = RunResources.of(provider, RunSettings(), cache_dir=default_cache_dir())
    # Comments alone: nothing has to be run to know that they are the same.
    survivors = {n: change_to(f"{FIXED}# {n}\n") for n in range(12)}
    with staged(task, provider, Desk(tmp_path)) as context:
        prepare(context)
        search, found = search_evidence(
            context.ready,
            resources,
            default_cache_dir(),
            reference=change_to(FIXED),
            survivors=survivors,
            seconds=5,
        )
    assert search == (
        "10 survivors compared with the reference, 5 s each; 2 not tried, at most 10 are"
    )
    assert not any(found.values())
