"""What the rules look at in an attempt: its record and its files, read once."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentbench.audit.patch import FilePatch, parse_patch
from agentbench.audit.run_folder import RunFolder, UnreadableError
from agentbench.audit.task_facts import TaskFacts
from agentbench.runs.record import AttemptRecord

_PATCH_BYTES = 256 * 1024 * 1024
_LOG_BYTES = 16 * 1024 * 1024  # a stage's log is capped at 10 MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFacts:
    """An attempt with what is left of it, and its task where that is still here."""

    record: AttemptRecord
    place: str  # of its files, relative to the run's folder
    read: Callable[[str], bytes]  # of a file relative to the place; raises UnreadableError
    task: TaskFacts | None
    patch: tuple[FilePatch, ...]  # as it was judged
    whole: tuple[FilePatch, ...]  # with what was dropped
    patch_text: bytes
    log: str  # of the agent's stage

    def before(self, path: str) -> bytes | None:
        """The base's content of a file, as far as it is known."""
        return self.task.base.content(PurePosixPath(path)) if self.task else None


def read_attempt(run: RunFolder, record: AttemptRecord, task: TaskFacts | None) -> AttemptFacts:
    """Read an attempt's files; those that are not there are empty here, and a rule says so."""
    place = run.place_of(record)

    def read(name: str) -> bytes:
        return run.read(f"{place}/{name}")

    def optional(name: str, limit: int) -> bytes:
        try:
            return run.read(f"{place}/{name}", limit=limit)
        except UnreadableError:
            return b""

    text = optional("patch.diff", _PATCH_BYTES)
    patch = parse_patch(text)
    has_raw = record.patch is not None and bool(record.patch.dropped or record.patch.tool_caches)
    raw = optional("patch.raw.diff", _PATCH_BYTES) if has_raw else b""
    return AttemptFacts(
        record=record,
        place=place,
        read=read,
        task=task,
        patch=patch,
        whole=parse_patch(raw) or patch,
        patch_text=text,
        log=optional("stages/agent_run.log", _LOG_BYTES).decode("utf-8", "replace"),
    )
