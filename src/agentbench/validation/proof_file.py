"""`proof.json` next to a task.toml: the result of validating the task's files.

The task's digest leaves the file out, so that a proof does not change the task.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from agentbench import __version__
from agentbench.core.files import write_atomically
from agentbench.core.schema import Schema
from agentbench.integrity.records import WeakControl
from agentbench.scoring.evidence import Finding, NodeId
from agentbench.scoring.taxonomy import StageName
from agentbench.tasks.loading import PROOF_FILE
from agentbench.tasks.task import Task
from agentbench.validation.mutation_score.results import MutationScore
from agentbench.validation.validation_runs import TaskProofRun

_MAX_BYTES = 16 * 2**20  # bytes; a proof lists tests, and some tasks have many


class StoredProof(Schema):
    """The result of validating one state of a task's files."""

    schema_version: Literal[1] = 1
    agentbench_version: str
    task_digest: str = Field(description="of the files that were proven")
    proven_at: datetime
    sandbox: str = Field(description="what it was proven in")
    repeat: int = Field(description="how often each of the two agents tried it")
    good: bool
    reasons: tuple[str, ...] = Field(default=(), description="why it is not good")
    fail_to_pass: int = Field(description="how many tests have to be fixed")
    controlled: tuple[NodeId, ...] = Field(
        default=(), description="those of them that control runs really control"
    )
    weakly_controlled: tuple[WeakControl, ...] = ()
    leaks: tuple[Finding, ...] = ()
    seconds: dict[StageName, float] = Field(
        default_factory=dict, description="the median of what each stage took"
    )
    peak_memory_mib: float | None = Field(
        default=None, description="the most that a stage used at once; null: not counted"
    )
    strength: MutationScore | None = Field(
        default=None, description="what the hidden tests let pass; null: nobody measured it"
    )


def stored_proof_of(
    task: Task,
    shown: TaskProofRun,
    reasons: Sequence[str],
    leaks: Sequence[Finding],
    repeat: int,
) -> StoredProof:
    """The proof for a validation result."""
    proof = shown.proof
    return StoredProof(
        agentbench_version=__version__,
        task_digest=task.digest,
        proven_at=datetime.now(UTC).replace(microsecond=0),
        sandbox=shown.sandbox,
        repeat=repeat,
        good=not reasons,
        reasons=tuple(reasons),
        fail_to_pass=proof.to_control,
        controlled=proof.controlled,
        weakly_controlled=proof.weakly_controlled,
        leaks=tuple(leaks),
        seconds={name: round(taken, 3) for name, taken in proof.seconds.items()},
        peak_memory_mib=round(proof.peak_memory_mib, 1) if proof.peak_memory_mib else None,
    )


def read_proof(folder: Path) -> StoredProof | None:
    """The proof in a task's folder; None if there is none or it cannot be read."""
    path = folder / PROOF_FILE
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return None
        return StoredProof.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def write_proof(folder: Path, proof: StoredProof) -> None:
    """Write a proof into the task's folder.

    Raises:
        OSError: the folder cannot be written.
    """
    write_atomically(folder / PROOF_FILE, f"{proof.model_dump_json(indent=1)}\n".encode())
