"""The recordings of the reference solution in sealed runs of a task, stored in the cache."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from agentbench.core.checksums import ChecksummedDocument
from agentbench.core.files import write_atomically
from agentbench.core.schema import JsonObject, Schema
from agentbench.integrity.records import VisibleValue
from agentbench.scoring.evidence import NodeId

if TYPE_CHECKING:  # a run without controls needs no recordings
    from agentbench.integrity.sealing.canonical import Recording

_MOST_RUNS = 3  # of the reference solution; a value that differs in them is unstable


class ReferenceRun(Schema):
    """One sealed run of the reference solution, with the tests' own ids."""

    passed: tuple[NodeId, ...] = ()
    recordings: dict[NodeId, tuple[JsonObject, ...]] = Field(default_factory=dict)
    seconds: float = 0.0
    is_large: bool = False  # other right code may have no room left for the recordings of all tests

    def recordings_of(self, node_id: NodeId) -> "tuple[Recording, ...]":
        """The recordings of one test."""
        from agentbench.integrity.sealing.recordings import parse_recording

        return tuple(map(parse_recording, self.recordings.get(node_id, ())))


def reference_run(
    passed: frozenset[NodeId],
    recordings: "Mapping[NodeId, tuple[Recording, ...]]",
    seconds: float = 0.0,
) -> ReferenceRun:
    """A run to store."""
    from agentbench.integrity.sealing.recordings import recording_to_json

    return ReferenceRun(
        passed=tuple(sorted(passed)),
        recordings={key: tuple(map(recording_to_json, r)) for key, r in recordings.items()},
        seconds=seconds,
    )


class BaseDifference(Schema):
    """The assertions of one test that the code without a fix passes, and those that it fails.

    It does not reach the others.
    """

    passed: frozenset[int] = frozenset()
    failed: frozenset[int] = frozenset()
    stays: VisibleValue | None = None  # in its text, and only the solution gives it


class SampledFile(Schema):
    """A file of pass-to-pass tests in which a random sample of them is sealed."""

    source: str  # the file with no other tests than the drawn ones
    drawn: tuple[NodeId, ...]
    sealed: str  # the whole file, with the drawn tests sealed that can be
    renamed: dict[NodeId, NodeId]
    tests: tuple[NodeId, ...]
    """The drawn tests that are controlled."""


class RegressionSample(Schema):
    """The pass-to-pass tests of a task that are controlled in files without a test to fix."""

    seed: int = 0
    files: dict[str, SampledFile] = Field(default_factory=dict)
    base: ReferenceRun = ReferenceRun()
    """The recordings of the code without a fix, which are right by definition."""
    uncontrolled: dict[str, str] = Field(default_factory=dict)
    """The other files, and why none of their tests is controlled."""

    @property
    def sealed_files(self) -> dict[str, bytes]:
        """The files that a sealed run writes."""
        return {file: sampled.sealed.encode() for file, sampled in self.files.items()}

    @property
    def renamed(self) -> dict[NodeId, NodeId]:
        """The node ids of the sealed files, by the tests' own ids."""
        return {old: new for one in self.files.values() for old, new in one.renamed.items()}


class SealedReference(ChecksummedDocument):
    """The runs of the reference solution under one seal."""

    seal: str = ""  # the digest of the test files, the tests and this protocol
    relaxed: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """By file: the assertions whose conditions the code under test evaluates itself."""
    paired: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """By file: the assertions with two computed sides, one of which is taken out."""
    keeps_names: bool = False  # whether its tests pass only under their own names
    only_fixed: bool = False  # whether the tests that stay passing record too much to be sealed
    runs: tuple[ReferenceRun, ...] = ()
    base: dict[NodeId, BaseDifference] | None = None
    """What the tests to fix show of the code without a fix; null: it was not run."""
    regressions: RegressionSample = RegressionSample()

    @property
    def public_names(self) -> frozenset[str]:
        """The names of the public state of all recorded objects, except for unreadable parts."""
        found = set[str]()
        forms: list[object] = [one for run in self.runs for one in run.recordings.values()]
        while forms:
            match forms.pop():
                case dict() as record:
                    forms += record.values()
                case ["object", _, _, _, list(public), *_] as form:
                    found |= {str(name) for name, part in public if part != ["cut"]}
                    forms += form
                case [*parts]:
                    forms += parts
                case _:
                    pass
        return frozenset(found)

    def with_run(self, run: ReferenceRun) -> "SealedReference":
        """A copy with one more run, without what it only observed."""
        kept = {
            test: tuple(one for one in found if isinstance(at := one["site"], int) and at > 0)
            for test, found in run.recordings.items()
        }
        run = run.replace(recordings=kept)
        return self.replace(runs=(*self.runs, run)[-_MOST_RUNS:])


class SealedMemory:
    """Stores the runs of the reference solution. Only runs without an agent's code add to it."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` is the file; None: the runs are not stored."""
        self._path = path
        self._known = SealedReference()

    def recall(self, seal: str) -> SealedReference:
        """The stored runs under a seal; empty if there are none or the file is damaged."""
        if self._known.seal != seal and self._path is not None:
            with contextlib.suppress(OSError, ValidationError):
                self._known = SealedReference.model_validate_json(self._path.read_bytes())
        return self._known if self._known.seal == seal else SealedReference(seal=seal)

    def remember(self, known: SealedReference) -> None:
        """Store runs; those under another seal are forgotten."""
        self._known = known
        if self._path is not None:
            with contextlib.suppress(OSError):
                write_atomically(self._path, known.json_with_checksum().encode())
