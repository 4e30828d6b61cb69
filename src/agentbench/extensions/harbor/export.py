"""Writes tasks as Harbor tasks, with the scripts that build, solve and judge them."""

import json
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path, PurePosixPath

from agentbench.attempt.expected_tests import judged_targets
from agentbench.core.files import FileContent
from agentbench.errors import GitCloneError, InputError
from agentbench.extensions.harbor.exported_image import write_environment, write_verifier_image
from agentbench.extensions.harbor.exported_table import (
    NotExpressibleError,
    opens_networks,
    task_toml,
    workdir_of,
)
from agentbench.extensions.harbor.importing import (
    IGNORE_FILE,
    ORIGINALS_FOLDER,
    SHARED_FOLDERS,
    read_harbor_task,
)
from agentbench.importers import task_folders
from agentbench.sandbox.interface import ImageSettings
from agentbench.tasks import writing
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.loading import TASK_FILE
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.scripts import SOLUTION_FOLDER, VERIFIER_FOLDER, script_files
from agentbench.tasks.steps import INSTRUCTION_FILE, STEPS_FOLDER, WORKDIR_FOLDER, step_folder
from agentbench.tasks.task import Task
from agentbench.tasks.task_file import parse_task_file
from agentbench.tasks.test_command import TestCommand
from agentbench.tasks.test_runner_name import Runner
from agentbench.tasks.users import AGENT_USER

_TEST_SCRIPT = """\
#!/bin/bash
# Made by agentbench: the hidden tests over the work, and the reward that they give.
cd {place} || exit 1
echo 0 > /logs/verifier/reward.txt
{removed}cp -R /tests/hidden/. {place}/
{before}export AGENTBENCH_EXPECTED=/tests/expected.json AGENTBENCH_REWARD=/logs/verifier/reward.txt
PYTHONPATH=/tests/judge${{PYTHONPATH:+:$PYTHONPATH}} {command}
"""
_SOLVE_SCRIPT = """\
#!/bin/bash
# Made by agentbench: the reference solution.
cd {place} && git apply --whitespace=nowarn /solution/solution.patch
"""
_COMMAND_SCRIPT = """\
#!/bin/bash
# Made by agentbench: the task's own command.
{moved}exec sh -c {command}
"""
_TABLES = {VERIFIER_FOLDER: "verifier", SOLUTION_FOLDER: "solution"}
_REFUSALS = (NotExpressibleError, GitCloneError, InputError, PatchDoesNotApplyError)
_Files = dict[PurePosixPath, FileContent]
_PLUGIN_FILE = "agentbench_judge.py"
_BASELINE_NOTE = (
    'pass_to_pass is "baseline": Harbor does not know which tests pass before, so only '
    "fail_to_pass decides; a list of ids from `agentbench validate --write-ids` is exported"
)


def test_sh(
    command: TestCommand,
    targets: Sequence[str],
    removed: Iterable[str],
    place: PurePosixPath,
    before: Iterable[str],
) -> str:
    """The script that runs the hidden tests and writes the reward.

    Args:
        command: How the project runs pytest.
        targets: The tests to run.
        removed: Files that the hidden tests delete.
        place: The folder of the repository.
        before: Shell commands that run first; without their success the reward is 0.
    """
    start = [command.interpreter, "-m", "pytest"] if command.as_module else ["pytest"]
    words = [*start, "-p", "agentbench_judge", *command.options, *targets]
    gone = " ".join(shlex.quote(path) for path in removed)
    return _TEST_SCRIPT.format(
        place=place,
        removed=f"rm -f -- {gone}\n" if gone else "",
        before="".join(f"sh -c {shlex.quote(line)} || exit 1\n" for line in before),
        command=shlex.join(words),
    )


def expected_json(task: Task) -> str:
    """The names of the deciding tests."""
    key = task.answer_key
    pass_to_pass = () if key.pass_to_pass == "baseline" else key.pass_to_pass
    return (
        json.dumps({"fail_to_pass": key.fail_to_pass, "pass_to_pass": pass_to_pass}, indent=1)
        + "\n"
    )


def export_tasks(
    tasks: Sequence[Task], out: Path, mirrors: Mirrors, *, image: str, replace: bool = False
) -> task_folders.ImportResult:
    """Write a Harbor folder for each task, atomically.

    Args:
        tasks: The tasks.
        out: The parent of the new folders.
        mirrors: The mirrors of their repositories, for the files that the hidden tests change.
        image: The image of tasks without one.
        replace: Whether to replace existing folders.

    Raises:
        UsageError: a folder already exists, or cannot be written.
    """
    exported = task_folders.ImportResult()
    for task in tasks:
        path = out / task.id
        try:
            with writing.new_folder(path, replace=replace) as folder:
                notes = list(_write_files(task, folder, mirrors, image))
        except _REFUSALS as error:
            exported.rejections.append(Rejection(where=str(task.folder), what=str(error)))
            continue
        exported.written.append(path)
        exported.notes += [f"{task.id}: {note}" for note in notes]
    return exported


def _write_files(task: Task, target: Path, mirrors: Mirrors, image: str) -> Iterator[str]:
    """Write all files of a task; returns the notes about it."""
    if (task.folder / ORIGINALS_FOLDER / "task.toml").is_file():
        for name in SHARED_FOLDERS:
            if (task.folder / name).is_dir():
                shutil.copytree(task.folder / name, target / name, symlinks=True)
        shutil.copytree(task.folder / ORIGINALS_FOLDER, target, symlinks=True, dirs_exist_ok=True)
        yield from changes_since_import(task.folder, target)
        return
    verifier = task.answer_key.verifier
    files = _pytest_files(task, mirrors) if verifier is None else _script_files(task)
    files[PurePosixPath("task.toml")] = _text(task_toml(task))
    write_environment(task, target / "environment", image)
    task_folders.write_files(target, files)
    for phase, folder in _phases(task):
        write_verifier_image(phase, target / folder / VERIFIER_FOLDER, image)
    yield from _notes(task)


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
    if not isinstance(converted, task_folders.ConvertedTask):
        yield "its files of Harbor were changed since the import, and cannot be imported again"
        return
    new = converted.new
    # As a reader of the written file gets it
    imported = parse_task_file(writing.task_toml(new.table), name=TASK_FILE)
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


def _notes(task: Task) -> Iterator[str]:
    key, has_services = task.answer_key, task.environment.compose is not None
    if key.verifier is not None:
        least = f"a reward above {key.verifier.threshold:g}"
        yield f"resolved by {least}; Harbor has no threshold and reports only the reward"
    elif key.pass_to_pass == "baseline":
        yield _BASELINE_NOTE
    if opens_networks(task):
        yield "every phase has a public network there, without which services have no names"
    if has_services and task.setup.all_commands:
        yield "its set-up commands run without the services there"
    if task.environment.env_from_host and task.setup.all_commands:
        yield "its set-up commands run without variables of the host there"
    folders = (step_folder(task.folder, step.name) / WORKDIR_FOLDER for step in task.steps)
    if any(each.is_dir() for each in folders):
        yield f"files of {WORKDIR_FOLDER}/ belong to root there"
    if has_services and key.verifier is None:
        yield "its tests run with the services of the agent there, not with fresh ones"


def _phases(task: Task) -> Iterator[tuple[Task, PurePosixPath]]:
    """The task as it is in each step, and the folder of the step; else the task itself."""
    for step in task.steps:
        yield task.in_step(step), PurePosixPath(STEPS_FOLDER, step.name)
    if not task.steps:
        yield task, PurePosixPath()


def _pytest_files(task: Task, mirrors: Mirrors) -> _Files:
    command = task.problem.tests
    if command.runner is not Runner.PYTEST:
        raise NotExpressibleError(f"its tests run under {command.runner}; expected pytest")
    overlay = apply_patch_to_commit(task.answer_key.tests_patch, mirrors.of(task.source))
    removed = [path.as_posix() for path, file in overlay.items() if file is None]
    judge = files("agentbench.extensions.harbor") / "mounted" / _PLUGIN_FILE
    # In pytest's own order, as agentbench runs them.
    targets = sorted(judged_targets(task), key=lambda target: PurePosixPath(target).parts)
    script = test_sh(command, targets, removed, workdir_of(task), task.problem.test_before)
    return {
        **{PurePosixPath("tests/hidden") / path: file for path, file in overlay.items() if file},
        PurePosixPath(INSTRUCTION_FILE): _text(task.problem.instruction),
        PurePosixPath("tests/test.sh"): _script(script),
        PurePosixPath("tests/expected.json"): _text(expected_json(task)),
        PurePosixPath("tests/judge", _PLUGIN_FILE): FileContent(
            content=judge.read_bytes(), executable=False
        ),
        **_patch_files(task),
    }


def _script_files(task: Task) -> _Files:
    """The files of a task with a verifier; each step has all of its own."""
    found: _Files = {}
    for phase, folder in _phases(task):
        tests = {path: f for each in phase.script_folders for path, f in script_files(each).items()}
        # A script for a command that is not Harbor's own one
        verifier = phase.answer_key.verifier
        assert verifier is not None  # or pytest judges
        place = verifier.workdir if verifier.is_shared else None
        tests |= _wrapper("test.sh", VERIFIER_FOLDER, verifier.command, tests, place)
        script, solution = task.scripted_solution, dict[PurePosixPath, FileContent]()
        if script is not None:
            step = phase.problem.step or ""
            solution |= script_files(script.step_folders.get(step, script.folder))
            solution |= _wrapper("solve.sh", SOLUTION_FOLDER, script.command, solution, None)
        own = {VERIFIER_FOLDER: tests, SOLUTION_FOLDER: solution}
        for name, content in own.items():
            if any(path.name == IGNORE_FILE for path in content):
                raise NotExpressibleError(f"{name}/: has a {IGNORE_FILE}, which Harbor obeys")
            found |= {folder / name / path: file for path, file in content.items()}
        found[folder / INSTRUCTION_FILE] = _text(phase.problem.instruction)
        if phase.problem.step is not None:
            steps = script_files(step_folder(task.folder, phase.problem.step) / WORKDIR_FOLDER)
            found |= {folder / WORKDIR_FOLDER / path: file for path, file in steps.items()}
    return found | ({} if task.steps else _patch_files(task))


def _wrapper(
    name: str,
    folder: str,
    command: str,
    others: Mapping[PurePosixPath, FileContent],
    place: str | None,
) -> _Files:
    """A script with Harbor's name that runs a command; none if the command is that script."""
    if command == f"/{folder}/{name}" and place is None:
        return {}
    if PurePosixPath(name) in others:
        what = f"runs {command!r}, but Harbor only runs {folder}/{name}, which is another script"
        raise NotExpressibleError(f"[{_TABLES[folder]}] command: {what}; rename it")
    moved = "" if place is None else f"cd {shlex.quote(place)} || exit 1\n"
    text = _COMMAND_SCRIPT.format(moved=moved, command=shlex.quote(command))
    return {PurePosixPath(name): _script(text)}


def _patch_files(task: Task) -> _Files:
    """A script that applies the patch of the solution, unless the solution is a script."""
    key = task.answer_key
    if key.solution is not None or not key.solution_patch:
        return {}
    return {
        PurePosixPath("solution/solve.sh"): _script(_SOLVE_SCRIPT.format(place=workdir_of(task))),
        PurePosixPath("solution/solution.patch"): FileContent(
            content=key.solution_patch, executable=False
        ),
    }


def _text(text: str) -> FileContent:
    return FileContent(content=text.encode(), executable=False)


def _script(text: str) -> FileContent:
    return FileContent(content=text.encode(), executable=True)
