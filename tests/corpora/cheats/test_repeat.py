"""Whatever is left to chance convicts no reference solution; `repeat` tries more rounds."""

from pathlib import Path

import pytest

from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from agentbench.taxonomy import FailureReason
from tests.corpora.repeat import CONTROLS, TASKS, Case, Tally, cases, repeat, table
from tests.tiers import gate_and_soak

CATALOGUE = sorted(path.parent for path in TASKS.glob("*/task.toml"))


@pytest.mark.parametrize("task", gate_and_soak(CATALOGUE[:2], CATALOGUE))
def test_a_reference_solution_is_resolved(
    bubblewrap: BubblewrapProvider, cache_dir: Path, tmp_path: Path, task: Path
) -> None:
    reference = list(cases(bubblewrap, cache_dir, [task]))[len(CONTROLS) :]
    assert reference

    (tally,) = repeat(reference, 1, tmp_path)

    assert tally.wrong == []


def test_a_wrong_verdict_is_counted_and_told(
    bubblewrap: BubblewrapProvider, cache_dir: Path, tmp_path: Path
) -> None:
    honest = {case.name: case for case in cases(bubblewrap, cache_dir, [])}
    idle = honest["changes nothing"]
    believed = Case(name="believed to mend it", judge=idle.judge, resolved=True)

    tallies = repeat([idle, believed], 2, tmp_path)

    assert [(tally.attempts, len(tally.wrong)) for tally in tallies] == [(2, 0), (2, 2)]
    shown = table(tallies)
    assert f"{FailureReason.TESTS_FAILED}" in shown
    assert shown.splitlines()[-1].split() == ["all", "4", "2"]
    assert isinstance(tallies[0], Tally)
