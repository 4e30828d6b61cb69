"""The environments of a repository's commits, each found out once."""

from calendar import monthrange
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

from agentbench.curation.detection.detect import propose
from agentbench.curation.detection.proposal import Proposal
from agentbench.curation.detection.trial import choose
from agentbench.errors import InputError
from agentbench.runs.options import RunOptions
from agentbench.tasks.history.fix import Fix


class Environments:
    """What holds for one commit is taken for all commits that describe themselves like it."""

    def __init__(self, options: RunOptions, given: Proposal | None = None) -> None:
        self._options = options
        self._given = given
        self._known: list[tuple[tuple[Proposal, ...], Proposal | InputError]] = []

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
        found = next((end for asked, end in self._known if asked == proposals), None)
        if found is None:
            found = self._found(fix, after, proposals)
            self._known.append((proposals, found))
        if isinstance(found, InputError):
            raise found
        return found

    def _found(
        self, fix: Fix, after: Path, proposals: tuple[Proposal, ...]
    ) -> Proposal | InputError:
        """The first proposal with which the fix's own tests run; the others tell no more of it."""
        paths = tuple(str(path) for path in fix.tests)
        narrowed = [_only(proposal, paths) for proposal in proposals]
        try:
            chosen = choose(after, narrowed, self._options)
        except InputError as error:
            return error
        self._options.say(f"environment: {chosen.passed} of {chosen.ran} tests pass with it")
        return proposals[narrowed.index(chosen.proposal)]


def _end_of_month(moment: datetime) -> date:
    """One day for all fixes of a month, so that they share what is found out for the first."""
    return moment.date().replace(day=monthrange(moment.year, moment.month)[1])


def _only(proposal: Proposal, paths: tuple[str, ...]) -> Proposal:
    return replace(proposal, tests=proposal.tests.model_copy(update={"paths": paths}))
