"""The environments of a repository's states, each found out once."""

from calendar import monthrange
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path, PurePosixPath

from agentbench.curation.detection.detect import propose
from agentbench.curation.detection.proposal import Proposal
from agentbench.curation.detection.trial import choose
from agentbench.errors import InputError
from agentbench.runs.options import RunOptions

_TRIES = (
    3  # of changes, until nothing is thought to hold; one's own tests may need what is not here
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A state of a repository, and a later one in which its tests pass if the environment fits."""

    before: Path
    """A folder with the files of the first state, which say what is needed."""
    after: Path
    """A folder with those of the later one."""
    tests: tuple[PurePosixPath, ...]
    """The test files that are to pass then."""
    on: date
    """The day of the change."""


class Environments:
    """What holds for one change is taken for all whose states describe themselves like it."""

    def __init__(self, options: RunOptions, given: Proposal | None = None) -> None:
        self._options = options
        self._given = given
        self._known: list[_Known] = []

    def of(self, change: Change) -> Proposal:
        """How the tests of a change run.

        Raises:
            InputError: no proposal holds; what each ended in.
            UnavailableError: there is no sandbox to try them in.
        """
        if self._given is not None:
            return self._given
        proposals = propose(change.before, on=_end_of_month(change.on))
        known = next((each for each in self._known if each.proposals == proposals), None)
        if known is None:
            known = _Known(proposals=proposals)
            self._known.append(known)
        if known.found is None and len(known.failures) < _TRIES:
            self._try(known, change)
        if known.found is None:
            raise known.failures[-1]
        return known.found

    def _try(self, known: "_Known", change: Change) -> None:
        """Find the first proposal with which a change's own tests run; the others tell no more."""
        paths = tuple(str(path) for path in change.tests)
        narrowed = [_only(proposal, paths) for proposal in known.proposals]
        try:
            chosen = choose(change.after, narrowed, self._options)
        except InputError as error:
            known.failures.append(error)
            return
        self._options.say(f"environment: {chosen.passed} of {chosen.ran} tests pass with it")
        known.found = known.proposals[narrowed.index(chosen.proposal)]


@dataclass(slots=True, kw_only=True)
class _Known:
    """What has come of trying some proposals."""

    proposals: tuple[Proposal, ...]
    found: Proposal | None = None
    failures: list[InputError] = field(default_factory=list)


def _end_of_month(day: date) -> date:
    """One day for all changes of a month, so that they share what is found out for the first."""
    return day.replace(day=monthrange(day.year, day.month)[1])


def _only(proposal: Proposal, paths: tuple[str, ...]) -> Proposal:
    return replace(proposal, tests=proposal.tests.model_copy(update={"paths": paths}))
