"""Completes values at the shell: agents, runs, tasks and failure reasons.

A shell waits for the answer, so files are read without the modules that check them. Files that
cannot be read are left out.
"""

import json
import tomllib
from contextlib import suppress
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

import typer

from agentbench.agents.built_in import AGENT_ENTRY_POINTS, BUILT_IN_AGENTS
from agentbench.taxonomy import FailureReason, StageName

_RUN_FILE = "run.json"
_TASK_FILE = "task.toml"
_LAST = "last"
_RUNS_BELOW = ("", "validation")  # the runs folder, and the runs in it that validate tasks
# The last run is found among so many: reading each of thousands would keep the shell waiting.
_RECENT = 20


def preset_names() -> list[str]:
    """The presets that agentbench ships."""
    folder = files("agentbench.agents").joinpath("presets")
    names = (each.name for each in folder.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def agent_names() -> list[str]:
    """The values of `--agent` that have a name."""
    own = sorted(point.name for point in entry_points(group=AGENT_ENTRY_POINTS))
    return [*BUILT_IN_AGENTS, *preset_names(), *own, "predictions:"]


def failure_reasons() -> list[tuple[str, str]]:
    """The failure reasons, each with its description."""
    return [(reason.value, reason.description) for reason in FailureReason]


def stage_names() -> list[str]:
    """The stages of an attempt."""
    return [stage.value for stage in StageName]


def run_names(ctx: typer.Context) -> list[str]:
    """`last` and the ids of the runs, newest first; paths are left to the shell."""
    runs_dir = _runs_dir(ctx)
    folders = [
        path.parent for below in _RUNS_BELOW for path in (runs_dir / below).glob(f"*/{_RUN_FILE}")
    ]
    found = sorted(folders, key=_time_of_change, reverse=True)
    return [_LAST, *(folder.name for folder in found)] if found else []


def tasks_of_run(ctx: typer.Context) -> list[str]:
    """The ids of the tasks of the run that the command line names."""
    named = ctx.params.get("run")
    folder = _run_folder(named if isinstance(named, str) else _LAST, _runs_dir(ctx))
    tasks = _read_run(folder).get("tasks") if folder is not None else None
    entries = tasks if isinstance(tasks, list) else []
    ids = (entry.get("id") for entry in entries if isinstance(entry, dict))
    return [task_id for task_id in ids if isinstance(task_id, str)]


def task_ids(ctx: typer.Context) -> list[str]:
    """The ids of the tasks in the folders that the command line names; default: tasks/."""
    named = ctx.params.get("tasks") or ctx.params.get("paths") or ctx.args
    words = named if isinstance(named, list | tuple) else [named]
    paths = [Path(str(word)) for word in words if not str(word).startswith("-")]
    ids = set[str]()
    for path in paths or [Path("tasks")]:
        is_task = (path / _TASK_FILE).is_file()
        folders = [path] if is_task else [file.parent for file in path.glob(f"*/{_TASK_FILE}")]
        ids.update(map(_task_id, folders))
    return sorted(ids)


def _runs_dir(ctx: typer.Context) -> Path:
    return Path(ctx.params.get("runs_dir") or "runs")


def _run_folder(name: str, runs_dir: Path) -> Path | None:
    """The folder of a run by its path, its id or `last`, as `find_run` finds it."""
    if name == _LAST:
        recent = sorted(
            (path.parent for path in runs_dir.glob(f"*/{_RUN_FILE}")), key=_time_of_change
        )[-_RECENT:]
        return max(
            recent, key=lambda folder: str(_read_run(folder).get("started_at")), default=None
        )
    folders = (Path(name), *(runs_dir / below / name for below in _RUNS_BELOW))
    return next((folder for folder in folders if (folder / _RUN_FILE).is_file()), None)


def _time_of_change(folder: Path) -> int:
    with suppress(OSError):
        return (folder / _RUN_FILE).stat().st_mtime_ns
    return 0


def _read_run(folder: Path) -> dict[str, object]:
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads((folder / _RUN_FILE).read_bytes())
        return found if isinstance(found, dict) else {}
    return {}


def _task_id(folder: Path) -> str:
    with suppress(OSError, ValueError):
        found = tomllib.loads((folder / _TASK_FILE).read_text("utf-8")).get("id")
        if isinstance(found, str):
            return found
    return folder.resolve().name
