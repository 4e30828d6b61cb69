"""The environments of a repository's commits, each found out once."""

from calendar import monthrange
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path

from agentbench.curation.detection.detect import propose
from agentbench.curation.detection.proposal import Proposal
from agentbench.curation.detection.trial import choose
from agentbench.errors import InputError
from agentbench.runs.options import RunOptions
from agentbench.tasks.history.fix import Fix

_TRIES = 3  # of fixes, until nothing is thought to hold; one's own tests may need what is not here


class Environments:
    """What holds for one commit is taken for all commits that describe themselves like it."""

    def __init__(self, options: RunOptions, given: Proposal | None = None) -> None:
        self._options = options
        self._given = given
        self._known: list[_Known] = []

    def of(self, fix: Fix, *, before: Path, after: Path) -> Proposal:
        """How the tests of a fix run.

        Args:
            fix: The fix.
            before: A folder with the files of the commit before it, which say what is needed.
            after: A folder with its own files: there its tests pass, if the environment is right.

        Raises:
            InputError: no proposal holds; what each ended in.
            UnavailableError: there is no sandbox to try them in.
        """
        if self._given is not None:
            return self._given
        proposals = propose(before, on=_end_of_month(fix.commit.date))
        known = next((each for each in self._known if each.proposals == proposals), None)
        if known is None:
            known = _Known(proposals=proposals)
            self._known.append(known)
        if known.found is None and len(known.failures) < _TRIES:
            self._try(known, fix, after)
        if known.found is None:
            raise known.failures[-1]
        return known.found

    def _try(self, known: "_Known", fix: Fix, after: Path) -> None:
        """Find the first proposal with which a fix's own tests run; the others tell no more."""
        paths = tuple(str(path) for path in fix.tests)
        narrowed = [_only(proposal, paths) for proposal in known.proposals]
        try:
            chosen = choose(after, narrowed, self._options)
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


def _end_of_month(moment: datetime) -> date:
    """One day for all fixes of a month, so that they share what is found out for the first."""
    return moment.date().replace(day=monthrange(moment.year, moment.month)[1])


def _only(proposal: Proposal, paths: tuple[str, ...]) -> Proposal:
    return replace(proposal, tests=proposal.tests.model_copy(update={"paths": paths}))
