"""Finds changes of an imported task that Harbor's own files do not show."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from agentbench.importers.harbor.importing import read_harbor_task
from agentbench.importers.task_folders import ConvertedTask
from agentbench.sandbox.interface import ImageSettings
from agentbench.tasks.loading import TASK_FILE
from agentbench.tasks.steps import INSTRUCTION_FILE
from agentbench.tasks.task_file import parse_task_file
from agentbench.tasks.users import AGENT_USER
from agentbench.tasks.writing import task_toml


def changes_since_import(folder: Path, originals: Path) -> Iterator[str]:
    """Notes about changes of a task that its exported folder lacks.

    Settings that the import read from an image count as unchanged.

    Args:
        folder: The imported task.
        originals: A folder with Harbor's own files, with the task's id as its name.
    """
    own = parse_task_file((folder / TASK_FILE).read_text("utf-8"), name=str(folder / TASK_FILE))
    user = own.environment.user
    workdir = None if own.repo.workdir is None else PurePosixPath(own.repo.workdir)
    settings = ImageSettings(workdir=workdir, user="" if user == AGENT_USER else user)
    converted = read_harbor_task(originals, lambda _: settings)
    if not isinstance(converted, ConvertedTask):
        yield "its files of Harbor were changed since the import, and cannot be imported again"
        return
    new = converted.new
    # As a reader of the written file gets it
    imported = parse_task_file(task_toml(new.table), name=TASK_FILE)
    tables = own.model_dump(), imported.model_dump()
    changed = sorted(key for key, value in tables[0].items() if value != tables[1][key])
    texts = {name: text.decode() for name, text in new.files.items()}
    if not new.table.steps:
        texts[INSTRUCTION_FILE] = new.instruction.rstrip("\n") + "\n"
    names = [f"{TASK_FILE} ({', '.join(changed)})"] if changed else []
    for name, text in sorted(texts.items()):
        try:
            is_equal = (folder / name).read_bytes().decode() == text
        except (OSError, UnicodeDecodeError):
            is_equal = False
        names += [] if is_equal else [name]
    if names:
        yield f"changed since its import, and exported as it was: {', '.join(names)}"
