"""What became of each commit that was looked at; beside the tasks that were made of them."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from pydantic import ValidationError

from agentbench.errors import InputError
from agentbench.schema import Schema

LEDGER = "mined.jsonl"


class Fate(StrEnum):
    """What became of a commit."""

    KEPT = "kept"
    REJECTED = "rejected"
    UNDECIDED = "undecided"  # lost to the infrastructure: it is tried again


class Entry(Schema):
    """One commit, and why it is a task or none."""

    commit: str
    subject: str
    fate: Fate
    reasons: tuple[str, ...] = ()
    candidate: bool = False
    """Whether it was worth a try, and not left out by what it changes."""
    task: str | None = None


class Ledger:
    """A file of entries, one a line; the last one of a commit holds.

    Raises:
        InputError: a line of it is none of ours.
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / LEDGER
        self.entries = {entry.commit: entry for entry in self._read()}

    def is_settled(self, commit: str) -> bool:
        """Whether it need not be looked at again."""
        known = self.entries.get(commit)
        return known is not None and known.fate is not Fate.UNDECIDED

    def add(self, entry: Entry) -> None:
        """Write down what became of a commit."""
        self.entries[entry.commit] = entry
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{entry.model_dump_json()}\n")

    def _read(self) -> Iterator[Entry]:
        if not self._path.exists():
            return
        for number, line in enumerate(self._path.read_bytes().splitlines(), 1):
            try:
                yield Entry.model_validate_json(line)
            except ValidationError as error:
                if not line.endswith(b"}"):
                    continue  # the last line of one that was killed
                raise InputError(
                    f"{self._path}:{number}: is no line of `tasks mine` ({error.error_count()} "
                    "faults); remove the file to begin anew"
                ) from None
