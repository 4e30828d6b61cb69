"""Published sets of tasks: `agentbench run -d NAME`, and `agentbench tasks sets`."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

import typer

from agentbench.cli import options
from agentbench.cli.tasks.validation import print_refusals
from agentbench.core.display_text import counted, printable
from agentbench.core.extensions import Slot, offers
from agentbench.core.host import usable_cache_dir
from agentbench.errors import InputError, UsageError
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.loading import TASK_FILE
from agentbench.tasks.problem import TaskId

_FILE = "file-"  # before the name of a file's folder
_FORMS = (
    "the owner/name of a data set on the Hugging Face Hub, a .jsonl, .json or .parquet file, or "
    "NAME@VERSION of Harbor's registry"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSet:
    """A set that has a short name."""

    name: str
    alias: str
    source: str  # the name under which it is published
    tasks: int
    needs: str  # a line for people


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRequest:
    """The tasks of a set that a run needs."""

    source: str
    out: Path  # the folder for the tasks; earlier imports are in it
    select: Callable[[Sequence[TaskId]], Sequence[TaskId]]
    repos: Path | None  # the folder of local clones
    validation: options.ValidationOptions

    def say(self, line: str) -> None:
        """Print a line on stderr, unless the command is quiet."""
        if not self.validation.quiet:
            typer.echo(printable(line, limit=1000), err=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedSet:
    """The result of importing the selected tasks."""

    valid: Sequence[Path]
    invalid: Sequence[tuple[str, str]]  # the tasks that are not valid here, with the reasons
    refused: Sequence[Rejection]


class TaskSets(Protocol):
    """The sets in one format."""

    known: Sequence[KnownSet]

    def has_form(self, name: str) -> bool:
        """Whether a text may name a set in this format."""

    def fetch(self, request: SetRequest) -> FetchedSet:
        """Import the selected tasks that are not imported; says before what that costs.

        Raises:
            InputError: there is no such set, or it cannot be read.
            UnavailableError: its publisher or the sandbox cannot be reached.
            UsageError: a library is missing.
            Exit: the import was interrupted.
        """


def _task_sets() -> list[TaskSets]:
    return [row.load() for row in offers(Slot.TASK_SETS).values()]


def _folder_of(source: str) -> Path:
    """The folder of a set's tasks in the cache."""
    path, name = Path(source), source.replace("/", "__")
    if path.exists():
        digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()
        name = f"{_FILE}{path.name}-{digest[:8]}"
    return usable_cache_dir() / "sets" / name


def fetch_set(
    name: str,
    select: Callable[[Sequence[TaskId]], Sequence[TaskId]],
    *,
    repos: Path | None,
    validation: options.ValidationOptions,
) -> list[Path]:
    """The folders of the selected tasks of a set, imported and validated; says what is left out.

    Args:
        name: A short name, or another name of a set.
        select: Selects among the ids of the set's tasks.
        repos: The folder of local clones.
        validation: How new tasks are validated.

    Raises:
        InputError: there is no such set, or none of the selected tasks can be judged here.
        UnavailableError: its publisher or the sandbox cannot be reached.
        UsageError: no set has such a name, or a library is missing.
        Exit: the import was interrupted.
    """
    if repos is not None and not repos.is_dir():
        raise typer.BadParameter(f"{repos} is not a folder", param_hint="--repos")
    sets, source = _find(name)
    request = SetRequest(
        source=source, out=_folder_of(source), select=select, repos=repos, validation=validation
    )
    fetched = sets.fetch(request)
    print_refusals(fetched.refused)
    for task, reason in fetched.invalid:
        line = f"left out: {task} is not valid here: {reason}"
        typer.echo(printable(line, limit=500), err=True)
    if not fetched.valid:
        raise InputError(f"{name}: none of the selected tasks can be judged here")
    if omitted := len(fetched.invalid) + len({(r.where, r.instance) for r in fetched.refused}):
        total = counted(len(fetched.valid) + omitted, "selected task")
        typer.echo(f"{name}: {len(fetched.valid)} of {total} can be judged here", err=True)
    return list(fetched.valid)


def _find(name: str) -> tuple[TaskSets, str]:
    """The sets to which a name belongs, and the name under which its set is published."""
    every = _task_sets()
    names: list[str] = []
    for sets in every:
        for each in sets.known:
            if name.lower() in {each.name, each.alias}:
                return sets, each.source
            names += [each.name, each.alias]
    for sets in every:
        if sets.has_form(name):
            return sets, name
    near = get_close_matches(name.lower(), names, n=2, cutoff=0.5)
    hint = f" (did you mean {' or '.join(near)}?)" if near else ""
    raise UsageError(
        f"-d: no set {name!r}{hint}; expected a name in `agentbench tasks sets`, {_FORMS}"
    )


def list_sets(as_json: options.Json = False) -> None:
    """List the published sets of tasks that `run -d` knows, and what is imported of them.

    Example: agentbench tasks sets
    """
    from agentbench.report.text_table import TableColumn, print_listing

    imported = _imported()
    rows: list[dict[str, object]] = []
    for each in (known for sets in _task_sets() for known in sets.known):
        count = imported.pop(_folder_of(each.source).name, 0)
        rows.append(
            {
                "name": each.name,
                "alias": each.alias,
                "source": each.source,
                "tasks": each.tasks,
                "imported": count,
                "needs": each.needs,
            }
        )
    # Sets without a short name that are in the cache
    for name, count in sorted(imported.items()):
        is_file = name.startswith(_FILE)
        source = name[len(_FILE) : -len("-12345678")] if is_file else name.replace("__", "/", 1)
        needs = "a file of rows" if is_file else ""
        rows.append({"name": source, "source": source, "imported": count, "needs": needs})
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    table = [
        (
            str(row["name"]),
            str(row.get("alias", "")),
            counted(int(str(row["tasks"])), "task") if "tasks" in row else "",
            f"{row['imported']} imported",
            str(row.get("needs", "")),
        )
        for row in rows
    ]
    below = TableColumn(below=1)
    print_listing(table, TableColumn(), TableColumn(), TableColumn(), TableColumn(), below)
    typer.echo(f"run -d also takes {_FORMS}", err=True)


def _imported() -> dict[str, int]:
    """How many tasks of each set are in the cache, by the name of its folder."""
    folders = (usable_cache_dir() / "sets").glob("*/")
    counts = {folder.name: len([*folder.glob(f"*/{TASK_FILE}")]) for folder in folders}
    return {name: count for name, count in counts.items() if count}
