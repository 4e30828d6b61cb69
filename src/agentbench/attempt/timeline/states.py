"""`agent/timeline.zip`: the states of an agent's work, to judge when it has ended.

It has each content under its digest, and an index, which is written last: without one the agent's
work was interrupted, and there is nothing to judge.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final, Self
from zipfile import BadZipFile, ZipFile

from agentbench.attempt.timeline.document import NotedState, stored_timeline
from agentbench.core.files import FileContent

TIMELINE_ARCHIVE: Final = Path("agent", "timeline.zip")
"""Its path in an attempt's folder."""

StoredFile = tuple[str, bool] | None
"""A changed file of a state: the digest of its content, and whether it is executable. None: it was
removed."""

_INDEX = "states.json"


def is_unfinished(folder: Path) -> bool:
    """Whether an attempt's folder has states, and their judging was interrupted."""
    if not (folder / TIMELINE_ARCHIVE).is_file():
        return False
    timeline = stored_timeline(folder)
    return timeline is None or not timeline.complete


class NotedStates:
    """The states in an archive that is open."""

    def __init__(
        self,
        archive: ZipFile,
        noted: Sequence[NotedState],
        files: Mapping[str, Mapping[PurePosixPath, StoredFile]],
        notes: Sequence[str],
    ) -> None:
        self._archive = archive
        self.files = files
        """The changed files of each state."""
        self.noted = tuple(noted)
        """The states in order."""
        self.notes = tuple(notes)
        """Remarks about states that are missing."""

    @classmethod
    @contextmanager
    def open(cls, folder: Path) -> Iterator[Self | None]:
        """The states noted in an attempt's folder; None: there are none to judge."""
        try:
            archive = ZipFile(folder / TIMELINE_ARCHIVE)
        except (OSError, BadZipFile):
            yield None
            return
        with archive:
            if _INDEX not in archive.namelist():
                yield None
                return
            index = json.loads(archive.read(_INDEX))
            noted = [NotedState.model_validate(each) for each in index["noted"]]
            files = {
                state: {PurePosixPath(path): stored and tuple(stored) for path, stored in rows}
                for state, rows in index["files"].items()
            }
            yield cls(archive, noted, files, index["notes"])

    def write_index(self) -> None:
        """Write the index into the archive, so that `open` finds the states."""
        index = {
            "noted": [each.model_dump(mode="json") for each in self.noted],
            "files": {
                state: [(str(path), stored) for path, stored in files.items()]
                for state, files in self.files.items()
            },
            "notes": self.notes,
        }
        self._archive.writestr(_INDEX, json.dumps(index))

    def files_of(self, state: str) -> dict[PurePosixPath, FileContent | None]:
        """The changed files of a state."""
        files: dict[PurePosixPath, FileContent | None] = {}
        for path, stored in self.files[state].items():
            if stored is None:
                files[path] = None
            else:
                digest, executable = stored
                content = self._archive.read(digest)
                files[path] = FileContent(content=content, executable=executable)
        return files
