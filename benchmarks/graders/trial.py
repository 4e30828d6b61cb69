"""What every grader is given, and what it answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

BASE_GIT = "/base.git"
"""In the image of each task, a copy of the repository's .git, which no agent changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderTask:
    """A task in the parts that graders' own forms are made of."""

    name: str
    """Lower-case letters, digits and hyphens."""

    folder: Path
    """The same as a task of agentbench."""

    image: str
    """A Docker image: the repository is /app, with its buggy commit as HEAD and a clean tree. Its
    user is root, its working directory /app. It has bash, git, curl and a Python with pytest."""

    tests_patch: str
    """The hidden tests, as a patch for git."""

    solution_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]

    @property
    def test_files(self) -> tuple[str, ...]:
        """The files of the tests to fix and to keep."""
        ids = (*self.fail_to_pass, *self.pass_to_pass)
        return tuple(sorted({one.partition("::")[0] for one in ids}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One agent's work on one task."""

    name: str
    """Unique in a run; lower-case letters, digits and hyphens."""

    task: GraderTask
    script: str
    """What the agent does, for `sh -e` in the repository. What it starts in the background may go
    on, if the grader lets it."""


def longest_seconds(trials: Sequence[Trial]) -> int:
    """After this time a grader that hangs is given up, with all its trials."""
    return 300 * len(trials) + 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a grader said of a trial."""

    resolved: bool | None
    """None: it gave no judgement, so that the attempt counts as not resolved."""

    detail: str
    """A line with its own words: the reward, the report's field, the error."""

    evidence: Path
    """The file or folder where the grader wrote it."""


class Grader(Protocol):
    """A grader with its own package, told by its own command."""

    name: str
    """As the table's column says it, such as `Harbor, separate verifier`."""

    requirement: str
    """What pip installs, pinned; empty for what is in this repository."""

    python: str
    """The Python that it is installed for, such as `3.12`."""

    method: str
    """A sentence: what it runs, where, and what makes an attempt resolved."""

    def judge(
        self, trials: Sequence[Trial], programs: Path, place: Path, jobs: int
    ) -> Mapping[str, Outcome]:
        """Judge all trials, so many at a time, and return an outcome for each by its name.

        Args:
            trials: What is judged.
            programs: The folder of the commands of its environment.
            place: A new folder of its own, which is kept: its input, output and logs.
            jobs: How many trials at a time.

        Raises:
            RuntimeError: the grader itself did not run.
        """
        ...
