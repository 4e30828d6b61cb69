"""What became of each pair of releases; beside the tasks that were made of them."""

from pathlib import Path
from typing import Final

from agentbench.curation.history.ledger import Fate
from agentbench.schema import Schema

LEDGER: Final = "releases.jsonl"


class ReleaseEntry(Schema):
    """One pair of releases, and why it is a task or none."""

    package: str
    old: str | None = None
    """None: the index did not say which."""
    new: str | None = None
    fate: Fate
    reasons: tuple[str, ...] = ()
    run: bool = False
    """Whether it is the gate that decided, after the task was made."""
    task: str | None = None
    fail_to_pass: int = 0

    @property
    def pair(self) -> str:
        """The package and its releases, as they are given on the command line."""
        return " ".join(filter(None, (self.package, self.old, self.new)))


def add_entry(folder: Path, entry: ReleaseEntry) -> None:
    """Write down what became of a pair.

    Raises:
        OSError: the folder cannot be written.
    """
    with (folder / LEDGER).open("a", encoding="utf-8") as file:
        file.write(f"{entry.model_dump_json()}\n")
