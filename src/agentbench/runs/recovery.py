"""What a power cut, a kill or damage left undone in a run's folder."""

from collections.abc import Iterator
from pathlib import Path

from agentbench.runs.reading import (
    ATTEMPTS,
    RECORD,
    KeptRecord,
    Reading,
    place_of,
    read_record_file,
)

_RETRY = ".retry-"


def written_again(reading: Reading) -> tuple[KeptRecord, ...]:
    """The records whose lines may be appended now: those that are their attempts' last word.

    The others stay where they are, and are found there whenever the run is read.
    """
    return tuple(kept for kept in reading.adopted if reading.is_last_word(kept))


def cut_off(folder: Path, reading: Reading) -> Iterator[str]:
    """A sentence for each attempt whose last try left no record that can be read."""
    known = {place_of(record) for record in reading.all_records()}
    for try_folder in _last_tries(folder / "attempts"):
        if f"{try_folder.parent.name}/{try_folder.name}" in known:
            continue
        path = try_folder / RECORD
        if not path.exists():
            yield f"{try_folder}: was cut off and left no record"
        elif isinstance(why := read_record_file(path), str):
            yield f"{path}: {why}; it has no line in {ATTEMPTS}, so the attempt is made again"


def _last_tries(attempts: Path) -> Iterator[Path]:
    last: dict[tuple[str, str], tuple[int, Path]] = {}
    for path in sorted(attempts.glob("*/*/")):
        attempt, _, retry = path.name.partition(_RETRY)
        if not attempt.isdigit() or (retry and not retry.isdigit()):
            continue  # one that was judged again
        rank = int(retry or 0)
        key = (path.parent.name, attempt)
        if key not in last or last[key][0] < rank:
            last[key] = (rank, path)
    yield from (path for _, path in last.values())
