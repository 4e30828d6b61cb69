"""Proposals tried in a sandbox, one after the other, until one holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentbench.curation.detection.proposal import Proposal
from agentbench.errors import InputError
from agentbench.runs.options import RunOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A proposal that did not hold, and what it ended in."""

    proposal: Proposal
    ending: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The first proposal that held."""

    proposal: Proposal
    passed: int
    """How many tests passed with it."""
    ran: int
    """How many there were that were not skipped."""
    refused: tuple[Refused, ...] = ()
    """Those tried before it."""


def choose(tree: Path, proposals: Sequence[Proposal], options: RunOptions) -> Chosen:
    """Try proposals on a repository's files until its set-up runs and most of its tests pass.

    Args:
        tree: The repository's files, at the commit in question.
        proposals: The most specific one first.
        options: Which sandbox, where what is prepared is kept, and who is told of each trial.

    Raises:
        InputError: none holds; what each ended in.
        UnavailableError: there is no sandbox.
    """
    del tree, options
    raise InputError(*(f"not tried: {proposal.reasons}" for proposal in proposals))
