"""`agentbench validate` tells the tasks of the corpus apart."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.validation.task_validation import read_proof
from tests.cli.conftest import Said
from tests.corpora.task_quality.case import QualityCase
from tests.corpora.task_quality.corpus import CASES, in_the_gate
from tests.tiers import gate_and_soak

pytestmark = pytest.mark.full


@pytest.mark.parametrize("case", gate_and_soak(in_the_gate(), CASES))
def test_valid_tasks_are_told_apart(
    cli: Callable[..., Said], sandbox: str, tmp_path: Path, case: QualityCase
) -> None:
    folder = case.write(tmp_path / case.name)
    options = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs", "--quiet")
    said = cli("validate", folder, "--record", "--strength", *options)
    proof = read_proof(folder)
    assert proof is not None, said.stderr
    assert proof.good, proof.reasons
    assert proof.strength is not None, said.stderr
    assert not proof.strength.why_not
    assert bool(proof.strength.survivors) is case.is_too_wide, proof.strength.survivors
