"""Writes tasks as Harbor folders; files that came from Harbor are written back unchanged."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from tempfile import mkdtemp

from agentbench.attempt.stages.judged_tests import judged_targets
from agentbench.core.files import FileContent
from agentbench.errors import GitCloneError, UsageError
from agentbench.importers.harbor import export_scripts
from agentbench.importers.harbor.importing import ORIGINALS_FOLDER, SHARED_FOLDERS
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.git_trees import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import parse_pytest_command
from agentbench.tasks.task import Task

_PLUGIN_FILE = "agentbench_judge.py"
_BASELINE_NOTE = (
    'pass_to_pass is "baseline": what passes before is not known there, so fail_to_pass alone '
    "decides; `agentbench validate --write-ids` with a list of ids carries it over"
)


@dataclass(slots=True, kw_only=True)
class ExportResult:
    """The results of exporting some tasks."""

    written: list[Path] = field(default_factory=list)
    refused: list[Rejection] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class _UnsupportedTaskError(ValueError):
    """A task that Harbor's format cannot express; the text says why."""


def export_tasks(
    tasks: Sequence[Task], out: Path, mirrors: Mirrors, *, image: str, replace: bool = False
) -> ExportResult:
    """Write a Harbor folder for each task, atomically.

    Args:
        tasks: The tasks.
        out: The parent of the new folders.
        mirrors: The mirrors of their repositories, for the files that the hidden tests change.
        image: The image of tasks that name none.
        replace: Whether to replace existing folders.

    Raises:
        UsageError: a folder already exists, or cannot be written.
    """
    exported = ExportResult()
    for task in tasks:
        path = out / task.id
        if os.path.lexists(path) and not replace:
            raise UsageError(f"{path}: already exists; give another --out, or --replace")
        try:
            _write_folder(task, path, mirrors, image)
        except (_UnsupportedTaskError, GitCloneError, PatchDoesNotApplyError) as error:
            exported.refused.append(Rejection(where=str(task.folder), what=str(error)))
            continue
        exported.written.append(path)
        if task.answer_key.pass_to_pass == "baseline":
            exported.notes.append(f"{task.id}: {_BASELINE_NOTE}")
    return exported


def _write_folder(task: Task, place: Path, mirrors: Mirrors, image: str) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(mkdtemp(prefix=".new-", dir=place.parent))
    except OSError as error:
        raise UsageError(f"{place.parent}: cannot be written: {error.strerror}") from error
    try:
        path = scratch / task.id
        path.mkdir()
        if (task.folder / ORIGINALS_FOLDER / "task.toml").is_file():
            for name in SHARED_FOLDERS:
                if (task.folder / name).is_dir():
                    shutil.copytree(task.folder / name, path / name, symlinks=True)
            shutil.copytree(task.folder / ORIGINALS_FOLDER, path, symlinks=True, dirs_exist_ok=True)
        else:
            _write_new(task, path, mirrors, image)
        if os.path.lexists(place):
            place.rename(scratch / "before")
        path.rename(place)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _write_new(task: Task, made: Path, mirrors: Mirrors, image: str) -> None:
    if task.answer_key.verifier is not None:
        raise _UnsupportedTaskError(
            "a script of its own judges it, and it is no import of Harbor's"
        )
    overlay = apply_patch_to_commit(task.answer_key.tests_patch, mirrors.of(task.source)).files
    removed = [path.as_posix() for path, file in overlay.items() if file is None]
    hidden = {
        export_scripts.under("tests/hidden", path): file for path, file in overlay.items() if file
    }
    command = parse_pytest_command(task.problem.test_command)
    judge = files("agentbench.importers.harbor.mounted") / _PLUGIN_FILE
    _write_environment(task, made / "environment", image)
    (made / "tests/hidden").mkdir(parents=True)
    texts = {
        "task.toml": export_scripts.task_toml(task),
        "tests/test.sh": export_scripts.test_sh(command, judged_targets(task), removed),
        "tests/expected.json": export_scripts.expected_json(task),
        f"tests/judge/{_PLUGIN_FILE}": judge.read_text("utf-8"),
        "solution/solve.sh": export_scripts.solve_sh(),
    }
    made.joinpath("instruction.md").write_text(task.problem.instruction, "utf-8")
    _write_files(made, hidden)
    _write_files(made, {name: _text(name, text) for name, text in texts.items()})
    solution = FileContent(content=task.answer_key.solution_patch, executable=False)
    _write_files(made, {"solution/solution.patch": solution})


def _text(name: str, text: str) -> FileContent:
    return FileContent(content=text.encode(), executable=name.endswith(".sh"))


def _write_files(made: Path, written: Mapping[str, FileContent]) -> None:
    for name, file in written.items():
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o755 if file.executable else 0o644)


def _write_environment(task: Task, folder: Path, image: str) -> None:
    """The build context of the image, with the repository if it is plain files."""
    own = task.environment.dockerfile
    if own is None:
        folder.mkdir()
        base = f"FROM {task.environment.image or image}"
    else:
        shutil.copytree(own.parent, folder, symlinks=True)
        base = own.read_text("utf-8")
    source = task.source
    bundle = Path(source.url).name if source.url and source.url.endswith(".bundle") else None
    if source.files is not None:
        shutil.copytree(source.files, folder / export_scripts.REPOSITORY_FOLDER, symlinks=True)
    elif bundle is not None:
        shutil.copyfile(str(source.url), folder / bundle)
    (folder / "Dockerfile").write_text(
        export_scripts.dockerfile(task, base, bundle=bundle), "utf-8"
    )
