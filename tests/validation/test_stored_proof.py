from datetime import UTC, datetime

import pytest

from agentbench.scoring.evidence import NodeId
from agentbench.tasks.loading import load_task
from agentbench.taxonomy import StageName
from agentbench.validation.stored_proof import StoredProof, read_proof, write_proof
from tests.e2e.small_task import SmallTask
from tests.fakes.staging import mirrors
from tests.validation.test_mutation_results import strength_of

PROOF = StoredProof(
    agentbench_version="0",
    task_digest="d",
    proven_at=datetime(2026, 1, 1, tzinfo=UTC),
    sandbox="docker",
    repeat=3,
    good=False,
    reasons=("flaky: t.py::a",),
    fail_to_pass=1,
    controlled=(NodeId("t.py::b"),),
    seconds={StageName.SETUP: 1.5},
)


def test_proof_is_read_as_written(tmp_path):
    write_proof(tmp_path, PROOF)
    assert read_proof(tmp_path) == PROOF
    assert [path.name for path in tmp_path.iterdir()] == ["proof.json"]


def test_proof_includes_mutation_score(tmp_path):
    stored = PROOF.replace(strength=strength_of(killed=3, survived=1))
    write_proof(tmp_path, stored)
    assert read_proof(tmp_path) == stored
    assert read_proof(tmp_path).strength.percent == 75


def test_proof_of_other_files_is_none_for_a_digest(tmp_path):
    write_proof(tmp_path, PROOF)
    assert read_proof(tmp_path, digest="d") == PROOF
    assert read_proof(tmp_path, digest="e") is None


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b'{"schema_version": 2}'])
def test_malformed_proof_is_none(tmp_path, text):
    (tmp_path / "proof.json").write_bytes(text)
    assert read_proof(tmp_path) is None


def test_missing_or_irregular_proof_is_none(tmp_path):
    assert read_proof(tmp_path) is None
    (tmp_path / "proof.json").mkdir()
    assert read_proof(tmp_path) is None


def test_proof_does_not_change_digest_of_task(tmp_path):
    folder = SmallTask().write(tmp_path)
    before = load_task(folder, mirrors=mirrors()).digest
    write_proof(folder, PROOF)
    assert load_task(folder, mirrors=mirrors()).digest == before
    (folder / "repo" / "proof.json").write_text("{}")
    assert load_task(folder, mirrors=mirrors()).digest != before
