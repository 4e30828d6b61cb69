"""Measurements of the tasks whose faults are known are what their labels say."""

from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest

from agentbench.extensions.test_quality.fairness_measurement import (
    FairnessSettings,
    measure_fairness,
)
from agentbench.extensions.test_quality.mutation_measurement import MutationScoreSettings, measure
from agentbench.runs.options import RunOptions
from agentbench.tasks.loading import load_task
from agentbench.tasks.task import Task
from agentbench.validation.fairness_results import fairness_lines
from tests.corpora.task_quality.case import QualityCase
from tests.corpora.task_quality.corpus import CASES, in_the_gate
from tests.fakes.staging import local_provider, mirrors
from tests.tiers import gate_and_soak

pytestmark = pytest.mark.full

_NO_PART = "a call in an expression is not a part that can be left out"
_NO_ORDER = "no variant has another order of what is sorted"
_FAIRNESS_IS_WRONG = {
    "graph-shortest-path": "a tuple is tried for a displayed list alone, not for other results",
    "table-columns-line-up": "no variant has another number of spaces between columns",
    "top-words-with-counts": "no variant has another width of a number",
    "tags-in-any-case": _NO_ORDER,
    "schedule-in-order-of-needs": _NO_ORDER,
    "query-with-several-values": _NO_ORDER,
    "alarms-sent-once": "no variant gives a keyword argument by position",
    "changes-of-an-inventory": "a tuple is tried for a list, a generator is not",
    "slugs-with-accents": _NO_PART,
    "intervals-that-touch": _NO_PART,
    "playlist-last-line": _NO_PART,
    "template-escapes-values": _NO_PART,
    "versions-before-release": _NO_PART,
    "orm-where-none": "common words such as `with` keep a part from being left out",
    "months-later": "common words such as `month` keep a part from being left out",
    "rows-as-csv-text": "another name counts, although the project has parallel ones",
}
"""Why the measurement differs from the label."""


def written(case: QualityCase, folder: Path) -> Task:
    return load_task(case.write(folder / case.name), mirrors=mirrors())


@pytest.mark.parametrize("case", gate_and_soak(in_the_gate(), CASES))
def test_measured_fairness_is_the_label(
    tmp_path: Path, request: pytest.FixtureRequest, case: QualityCase
) -> None:
    if case.name in _FAIRNESS_IS_WRONG:
        reason = _FAIRNESS_IS_WRONG[case.name]
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError))
    provider = local_provider()
    options = RunOptions(sandbox=provider)
    settings = FairnessSettings(options=options, within=timedelta(minutes=5), cancel=Event())
    fairness = measure_fairness(written(case, tmp_path), settings, provider)
    assert not fairness.why_not
    assert fairness.is_unfair is case.is_unfair, list(fairness_lines(fairness))


@pytest.mark.parametrize("case", gate_and_soak(in_the_gate(), CASES))
def test_wrong_fixes_are_certified_if_the_tests_are_too_wide(
    tmp_path: Path, case: QualityCase
) -> None:
    options = RunOptions(sandbox=local_provider())
    settings = MutationScoreSettings(options=options, cancel=Event(), search_seconds=20)
    (strength,) = measure([written(case, tmp_path)], settings, lambda _task, _strength: None)
    assert not strength.why_not
    assert bool(strength.certified) is case.is_too_wide, strength.survivors
