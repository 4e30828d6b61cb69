"""`agentbench tasks`: the command group, with `tasks init` and `tasks list`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.tasks.sets import list_sets
from agentbench.core.display_text import counted, printable
from agentbench.core.extensions import Slot, offers
from agentbench.core.host import usable_cache_dir
from agentbench.tasks.test_runner_name import Runner

if TYPE_CHECKING:
    from agentbench.tasks.task import Task

tasks = options.command_group("List, create, import and export tasks.")

importing = options.command_group(
    "Make tasks from another format: releases, SWE-bench's files, Harbor's folders.\n\n"
    "Example: agentbench tasks import harbor their-tasks/ --out tasks"
)
exporting = options.command_group(
    "Write tasks in another format.\n\nExample: agentbench tasks export harbor tasks/ --out theirs"
)

for slot, group in (
    (Slot.TASK_COMMAND, tasks),
    (Slot.TASK_IMPORT, importing),
    (Slot.TASK_EXPORT, exporting),
):
    for name, row in offers(slot).items():
        group.command(name)(row.load())
tasks.command("sets")(list_sets)
tasks.add_typer(importing, name="import")
tasks.add_typer(exporting, name="export")


@tasks.command("init")
def init_task(
    folder: Annotated[Path, typer.Argument(help="The new folder; its name becomes the task's id.")],
    runner: Annotated[
        Runner, typer.Option("--runner", help="The program that runs the tests.")
    ] = Runner.PYTEST,
) -> None:
    """Write the folder of a new task, with comments, to be filled in.

    `tasks list` and `validate` say what is still missing.

    Example: agentbench tasks init tasks/my-bug --runner go
    """
    from agentbench.tasks.scaffold import FILES, write_scaffold

    write_scaffold(folder, runner)
    for name in (*FILES, "repo/"):
        typer.echo(str(folder / name.rstrip("/")) + "/" * name.endswith("/"))
    typer.echo(f"fill them in, then run: agentbench validate {folder} --write-ids", err=True)


@tasks.command("list")
def list_tasks(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="The folders of tasks; default: tasks/.")
    ] = None,
    filter_globs: options.Filter = None,
    tag: options.Tag = None,
    as_json: options.Json = False,
) -> None:
    """List tasks: id, title, tags, and their number of deciding tests or steps.

    Example: agentbench tasks list tasks/ --tag easy
    """
    from agentbench.report.text_table import TableColumn, print_listing

    selection = options.TaskSelection(
        tasks=paths or [Path("tasks")], filter_globs=filter_globs, tag=tag
    )
    found = selection.load(usable_cache_dir())
    if as_json:
        rows = [
            {
                "id": task.id,
                "title": task.problem.title,
                "tags": task.problem.tags,
                "folder": str(task.folder),
                "digest": task.digest,
                "fail_to_pass": len(task.answer_key.fail_to_pass),
                "steps": [step.name for step in task.steps],
            }
            for task in found
        ]
        typer.echo(json.dumps(rows, indent=1))
        return
    table = [
        (
            task.id,
            printable(task.problem.title),
            printable(f"[{', '.join(task.problem.tags)}]") if task.problem.tags else "",
            _deciding(task),
        )
        for task in found
    ]
    below = TableColumn(below=1)
    print_listing(table, TableColumn(), TableColumn(below=2), below, below)


def _deciding(task: "Task") -> str:
    if task.steps:
        return counted(len(task.steps), "step")
    key = task.answer_key
    if key.verifier is not None:
        return "judged by a script"
    if not key.fail_to_pass:
        return "no tests listed yet (validate --write-ids)"
    return counted(len(key.fail_to_pass), "target test")
