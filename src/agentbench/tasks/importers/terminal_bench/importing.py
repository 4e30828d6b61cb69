"""Terminal-Bench's folders as tasks on disk: what cannot be taken is refused, the rest written."""

from collections.abc import Sequence
from pathlib import Path

from agentbench.tasks.importers.harbor.importing import Imported, folders_with, write
from agentbench.tasks.importers.terminal_bench.read_task import TerminalTask, read_task


def import_folders(sources: Sequence[Path], out: Path, *, replace: bool = False) -> Imported:
    """Write the tasks of folders, and of folders of folders, below another.

    Raises:
        UsageError: a source is no folder, or there is no task in it.
    """
    imported = Imported()
    for folder in folders_with("task.yaml", sources):
        made = read_task(folder)
        if isinstance(made, TerminalTask):
            write(made.new, made.notes, folder, out, imported, replace=replace)
        else:
            imported.refused += made
    return imported
