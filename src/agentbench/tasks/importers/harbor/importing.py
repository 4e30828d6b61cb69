"""Harbor's folders as tasks on disk: what cannot be taken is refused, the rest is written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentbench.errors import InputError, UsageError
from agentbench.tasks.importers.harbor.read_task import HarborTask, read_task
from agentbench.tasks.importers.refusal import Refusal
from agentbench.tasks.new_task import NewTask, write_task


@dataclass(slots=True, kw_only=True)
class Imported:
    """What came of some folders."""

    written: list[Path] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is otherwise here than there, by task."""


def import_folders(sources: Sequence[Path], out: Path, *, replace: bool = False) -> Imported:
    """Write the tasks of folders, and of folders of folders, below another.

    Raises:
        UsageError: a source is no folder, or there is no task in it.
    """
    imported = Imported()
    for folder in folders_with("task.toml", sources):
        made = read_task(folder)
        if isinstance(made, HarborTask):
            write(made.new, made.notes, folder, out, imported, replace=replace)
        else:
            imported.refused += made
    return imported


def folders_with(name: str, sources: Sequence[Path]) -> Iterator[Path]:
    """The folders that bear a file: those given, or those right below one that has none.

    Raises:
        UsageError: a source is no folder, or holds none.
    """
    for source in sources:
        if not source.is_dir():
            raise UsageError(f"{source}: expected a folder with a {name}, found none")
        if (source / name).is_file():
            yield source
            continue
        found = [path.parent for path in sorted(source.glob(f"*/{name}"))]
        if not found:
            raise UsageError(f"{source}: no {name} in it, nor in a folder right below it")
        yield from found


def write(
    new: NewTask,
    notes: Sequence[str],
    folder: Path,
    out: Path,
    imported: Imported,
    *,
    replace: bool,
) -> None:
    """Write one task, and note what came of it."""
    if any(path.name == new.id for path in imported.written):
        said = f"gives the id {new.id}, which an earlier folder has given"
        imported.refused.append(Refusal(where=str(folder), what=said))
        return
    try:
        imported.written.append(write_task(new, out, replace=replace))
    except InputError as error:
        place = str(out / new.id)
        imported.refused += [
            Refusal(where=str(folder), what=fault.replace(place, str(folder)))
            for fault in error.faults
        ]
        return
    except UsageError as error:
        imported.refused.append(Refusal(where=str(folder), what=str(error)))
        return
    imported.notes += [f"{new.id}: {note}" for note in notes]
