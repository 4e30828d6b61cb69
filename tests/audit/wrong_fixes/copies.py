"""Copies of shipped tasks with hidden tests taken away, and the fixes as patches."""

import ast
import difflib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentbench.audit.patch import applied, parse_patch
from tests.audit.wrong_fixes.case import Case, Edit

TASKS = Path(__file__).parents[3] / "tasks"


def weakened(case: Case, folder: Path) -> Path:
    """Copy the case's task into a folder, without the tests that its wrong fix would fail."""
    task = folder / case.task
    shutil.copytree(TASKS / case.task, task)
    hidden = {
        file.path: applied(_content(case, file.path), file)
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
