"""`proof.json`: the result of validating a task, next to its task.toml."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field, ValidationError

from agentbench.core.files import write_atomically
from agentbench.core.schema import Schema
from agentbench.integrity.records import ControlKind, WeakControl
from agentbench.scoring.evidence import Finding, NodeId
from agentbench.tasks.loading import PROOF_FILE
from agentbench.taxonomy import StageName
from agentbench.validation.fairness_results import Fairness
from agentbench.validation.mutation_results import MutationScore

if TYPE_CHECKING:
    from agentbench.validation.task_proof import TaskProof

_MAX_BYTES = 16 * 2**20  # bytes; a proof lists tests, and some tasks have many


class StoredProof(Schema):
    """The result of validating one state of a task's files."""

    schema_version: Literal[1] = 1
    agentbench_version: str
    task_digest: str = Field(description="digest of the validated files")
    proven_at: datetime
    sandbox: str = Field(description="the sandbox of the validation")
    repeat: int = Field(description="the number of attempts by each of the two agents")
    good: bool
    reasons: tuple[str, ...] = Field(default=(), description="why the task is invalid")
    resolved_by_reference: int | None = Field(
        default=None,
        description="how many of the oracle's attempts are resolved; null: an earlier version",
    )
    resolved_by_noop: int | None = Field(
        default=None, description="the same for the agent that does nothing"
    )
    flake_rates: dict[NodeId, float] = Field(
        default_factory=dict,
        description="for each flaky test, the share of its runs with a minority outcome",
    )
    quarantined: tuple[NodeId, ...] = Field(
        default=(), description="flaky tests that decide nothing any more"
    )
    fail_to_pass: int = Field(description="the number of tests to fix")
    controlled: tuple[NodeId, ...] = Field(
        default=(), description="the tests to fix that control runs cover"
    )
    sealed: tuple[NodeId, ...] = Field(
        default=(), description="the tests to fix that give the right values in a sealed run"
    )
    unsealed: dict[NodeId, str] = Field(
        default_factory=dict, description="why the other tests to fix are not sealed"
    )
    weakly_controlled: tuple[WeakControl, ...] = ()
    leaks: tuple[Finding, ...] = ()
    seconds: dict[StageName, float] = Field(
        default_factory=dict, description="the median duration of each stage in seconds"
    )
    peak_memory_mib: float | None = Field(
        default=None, description="the peak memory of a stage; null: not measured"
    )
    strength: MutationScore | None = Field(
        default=None, description="the mutation score of the hidden tests; null: not measured"
    )
    fairness: Fairness | None = Field(
        default=None, description="the right fixes that the tests reject; null: not measured"
    )


def read_proof(folder: Path, *, digest: str | None = None) -> StoredProof | None:
    """The proof in a task's folder; None if there is none or it cannot be read.

    With the digest of a task's files, also None if the proof is of other files.
    """
    path = folder / PROOF_FILE
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return None
        proof = StoredProof.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return proof if digest in {None, proof.task_digest} else None


def write_proof(folder: Path, proof: StoredProof) -> None:
    """Write a proof into the task's folder.

    Raises:
        OSError: the folder cannot be written.
    """
    write_atomically(folder / PROOF_FILE, f"{proof.model_dump_json(indent=1)}\n".encode())


def control_counts(
    proof: "StoredProof | TaskProof", fail_to_pass: int
) -> tuple[tuple[ControlKind, int], ...]:
    """So many tests to fix by how they are controlled; empty: there were no control runs."""
    if not (proof.sealed or proof.unsealed):
        return ()
    sealed, controlled = len(proof.sealed), len(proof.controlled)
    counts = sealed, controlled - sealed, fail_to_pass - controlled
    return tuple(zip(ControlKind, counts, strict=True))
