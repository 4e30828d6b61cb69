"""What a source tree says of how its tests run, as proposals from the most specific to the least.

Read and never run: no file of the tree is imported or executed here.
"""

from datetime import date
from pathlib import Path

from agentbench.curation.detection.proposal import Proposal


def propose(tree: Path, *, on: date | None = None) -> tuple[Proposal, ...]:
    """The ways in which a repository's tests may run; one at least.

    Args:
        tree: The repository's files.
        on: The day of that state, so that its tests meet the libraries of their time.
    """
    del tree, on
    return (Proposal(),)
