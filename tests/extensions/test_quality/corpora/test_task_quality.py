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
from agentbench.extensions.test_quality.stronger_tests import StrongerPatches
from agentbench.runs.options import RunOptions
from agentbench.tasks.loading import load_task
from agentbench.tasks.task import Task
from agentbench.validation.fairness_results import fairness_lines
from tests.corpora.task_quality.case import QualityCase
from tests.corpora.task_quality.corpus import CASES, in_the_gate
from tests.fakes.staging import local_provider, mirrors
from tests.tiers import gate_and_soak

pytestmark = pytest.mark.full


def written(case: QualityCase, folder: Path) -> Task:
    return load_task(case.write(folder / case.name), mirrors=mirrors())


@pytest.mark.parametrize("case", gate_and_soak(in_the_gate(), CASES))
def test_measured_fairness_is_the_label(tmp_path: Path, case: QualityCase) -> None:
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
    task = written(case, tmp_path)
    stronger = None
    if case.is_too_wide:
        patch = case.write(tmp_path / "stronger" / case.name, stronger=True) / "tests.patch"
        stronger = StrongerPatches(path=patch, by_task={task.id: patch.read_bytes()})
    settings = MutationScoreSettings(
        options=RunOptions(sandbox=local_provider()),
        cancel=Event(),
        stronger=stronger,
        search_seconds=0 if case.is_too_wide else 2,
    )
    (strength,) = measure([task], settings, lambda _task, _strength: None)
    assert not strength.why_not
    assert bool(strength.certified) is case.is_too_wide, strength.survivors
