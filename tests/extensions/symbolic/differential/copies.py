"""Copies of shipped tasks with hidden tests taken away, and the fixes as patches."""

import ast
import difflib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentbench.audit.patch import apply_patch, parse_patch
from agentbench.core.host import default_cache_dir
from agentbench.runs.options import RunOptions
from agentbench.runs.start import start_run
from agentbench.runs.store.store import RunStore
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.extensions.symbolic.differential.case import Case, Edit
from tests.extensions.symbolic.differential.cases import CASES
from tests.fakes.staging import local_provider

TASKS = Path(__file__).parents[4] / "tasks"


def weakened(case: Case, folder: Path) -> Path:
    """Copy the case's task into a folder, without the tests that its wrong fix would fail."""
    task = folder / case.task
    shutil.copytree(TASKS / case.task, task)
    hidden = {
        file.path: apply_patch(_content(case, file.path), file)
        for file in parse_patch((task / "tests.patch").read_bytes())
    }
    sources = {path: (content or b"").decode() for path, content in hidden.items()}
    left = {path: _without(source, case.gone) for path, source in sources.items()}
    for edit in case.edited:
        assert left[edit.file].count(edit.old) == 1, f"not there once: {edit.old}"
        left[edit.file] = left[edit.file].replace(edit.old, edit.new)
    before = {path: (_content(case, path) or b"").decode() for path in left}
    (task / "tests.patch").write_text(_diff(before, left))
    settings = (task / "task.toml").read_text().splitlines(keepends=True)
    (task / "task.toml").write_text("".join(line for line in settings if not _names(line, case)))
    return task


def fix(case: Case, edits: Sequence[Edit]) -> str:
    """The patch that some edits make."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for edit in edits:
        before[edit.file] = (TASKS / case.task / "repo" / edit.file).read_text()
        now = after.get(edit.file, before[edit.file])
        assert now.count(edit.old) == 1, f"{case.task}: not there once: {edit.old}"
        after[edit.file] = now.replace(edit.old, edit.new)
    return _diff(before, after)


def run_of(kind: str, tasks: Sequence[Path], folder: Path) -> Path:
    """A run of an agent that answers each task with its wrong, or its honest, fix."""
    folder.mkdir()
    rows = [
        {
            "instance_id": case.task,
            "model_name_or_path": kind,
            "model_patch": fix(case, case.wrong if kind == "wrong" else case.honest),
        }
        for case in CASES.values()
    ]
    (folder / "answers.json").write_text(json.dumps(rows))
    mirrors = Mirrors(default_cache_dir() / "mirrors")
    options = RunOptions(
        agent=f"predictions:{folder / 'answers.json'}",
        sandbox=local_provider(),
        runs_dir=folder / "runs",
        run_id=kind,
        cache_dir=default_cache_dir(),
        jobs=2,
        integrity_controls=ControlLevel.OFF,  # they are no part of this
        allow_unsandboxed=True,
    )
    run = start_run([load_task(task, mirrors=mirrors) for task in tasks], options)
    for _ in run.attempts():
        pass
    return folder / "runs" / kind


def resolved_by(kind: str, tasks: Sequence[Path], folder: Path) -> set[str]:
    """The ids of the tasks that such a run resolves."""
    records = RunStore.open(run_of(kind, tasks, folder)).latest()
    return {record.task_id for record in records if record.resolved}


def _content(case: Case, path: str) -> bytes | None:
    place = TASKS / case.task / "repo" / path
    return place.read_bytes() if place.exists() else None


def _without(source: str, names: Sequence[str]) -> str:
    lines = source.splitlines(keepends=True)
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            del lines[first - 1 : node.end_lineno]
    return "".join(lines)


def _names(line: str, case: Case) -> bool:
    return any(f"::{name}{end}" in line for name in case.gone for end in ('"', "["))


def _diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    return "".join(
        f"diff --git a/{path} b/{path}\n"
        + ("" if before[path] else "new file mode 100644\n")
        + "".join(
            difflib.unified_diff(
                before[path].splitlines(keepends=True),
                after[path].splitlines(keepends=True),
                f"a/{path}" if before[path] else "/dev/null",
                f"b/{path}",
            )
        )
        for path in after
    )
