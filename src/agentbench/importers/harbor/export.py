"""Writes tasks as Harbor tasks, with the scripts that build, solve and judge them."""

import json
import shlex
import shutil
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path, PurePosixPath

import tomlkit

from agentbench.attempt.stages.judged_tests import judged_targets
from agentbench.core.choices import Runner
from agentbench.core.files import FileContent
from agentbench.errors import GitCloneError
from agentbench.importers import task_folders
from agentbench.importers.harbor.importing import ORIGINALS_FOLDER, SHARED_FOLDERS
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.problem import PytestCommand, parse_pytest_command
from agentbench.tasks.task import Task
from agentbench.tasks.writing import new_folder

WORKDIR = "/app"
REPOSITORY_FOLDER = "agentbench-repo"
"""The folder in environment/ with the repository."""

_COMMIT = (
    "git init --quiet && git add --all --force && git -c user.name=agentbench "
    "-c user.email=agentbench@localhost commit --quiet --allow-empty "
    "--message 'The repository of the task'"
)
_TOOLS = (
    "command -v git > /dev/null || { apt-get update && apt-get install --yes "
    "--no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/*; }"
)
_PYTEST = "python -m pytest --version || python -m pip install pytest"
_TEST_SCRIPT = """\
#!/bin/bash
# Made by agentbench: the hidden tests over the work, and the reward that they give.
cd {place} || exit 1
echo 0 > /logs/verifier/reward.txt
{removed}cp -R /tests/hidden/. {place}/
export AGENTBENCH_EXPECTED=/tests/expected.json AGENTBENCH_REWARD=/logs/verifier/reward.txt
PYTHONPATH=/tests/judge${{PYTHONPATH:+:$PYTHONPATH}} {command}
"""
_SOLVE_SCRIPT = """\
#!/bin/bash
# Made by agentbench: the reference solution.
cd {place} && git apply --whitespace=nowarn /solution/solution.patch
"""
_PLUGIN_FILE = "agentbench_judge.py"
_BASELINE_NOTE = (
    'pass_to_pass is "baseline": what passes before is not known there, so fail_to_pass alone '
    "decides; `agentbench validate --write-ids` with a list of ids carries it over"
)


def test_sh(command: PytestCommand, targets: Sequence[str], removed: Iterable[str]) -> str:
    """The script that runs the hidden tests and writes the reward.

    Args:
        command: How the project runs pytest.
        targets: The tests to run.
        removed: Files that the hidden tests delete.
    """
    start = [command.interpreter, "-m", "pytest"] if command.as_module else ["pytest"]
    words = [*start, "-p", "agentbench_judge", *command.options, *targets]
    gone = " ".join(shlex.quote(path) for path in removed)
    return _TEST_SCRIPT.format(
        place=WORKDIR, removed=f"rm -f -- {gone}\n" if gone else "", command=shlex.join(words)
    )


def dockerfile(task: Task, base: str, *, bundle: str | None = None) -> str:
    """The Dockerfile; it copies the repository or a git bundle, or clones it.

    Args:
        task: The task.
        base: The task's own Dockerfile, or a FROM line.
        bundle: The name of a git bundle next to it.
    """
    lines = [base.rstrip("\n"), "USER root", f"RUN {_TOOLS}", f"WORKDIR {WORKDIR}"]
    url, commit = task.source.url, task.source.commit
    if task.source.files is not None:
        lines.append(f"COPY {REPOSITORY_FOLDER}/ {WORKDIR}/")
    elif bundle is not None:
        lines.append(f"COPY {bundle} /tmp/{bundle}")
        url = f"/tmp/{bundle}"
    if task.source.files is None:
        clone = f"git clone --quiet {shlex.quote(url or '')} . && git checkout --quiet {commit}"
        lines.append(_run(f"{clone} && rm -rf .git"))
    lines.append(_run(_COMMIT))
    lines += [f"ENV {name}={_quoted(value)}" for name, value in task.environment.env.items()]
    lines += [_run(command) for command in task.setup.all_commands]
    return "\n".join([*lines, _run(_PYTEST), ""])


def task_toml(task: Task) -> str:
    """The text of Harbor's task.toml, schema 1.4."""
    environment = task.environment
    values = {
        "schema_version": "1.4",
        "metadata": {"title": task.problem.title, "tags": list(task.problem.tags)},
        "verifier": {"timeout_sec": task.problem.test_timeout_s, "environment_mode": "shared"},
        "agent": {"timeout_sec": task.problem.limits.timeout_s},
        "environment": {
            "build_timeout_sec": task.setup.timeout_s,
            "cpus": environment.cpus,
            "memory_mb": environment.memory_mib,
            "storage_mb": environment.disk_mib,
            "workdir": WORKDIR,
        },
    }
    return tomlkit.dumps(values)


def expected_json(task: Task) -> str:
    """The names of the deciding tests."""
    key = task.answer_key
    pass_to_pass = () if key.pass_to_pass == "baseline" else key.pass_to_pass
    return (
        json.dumps({"fail_to_pass": key.fail_to_pass, "pass_to_pass": pass_to_pass}, indent=1)
        + "\n"
    )


def _run(command: str) -> str:
    return f"RUN {json.dumps(['/bin/sh', '-c', command])}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return '"' + escaped.replace("\n", "\\\n") + '"'


class _UnsupportedTaskError(ValueError):
    """A task that Harbor's format cannot express; the text says why."""


def export_tasks(
    tasks: Sequence[Task], out: Path, mirrors: Mirrors, *, image: str, replace: bool = False
) -> task_folders.ImportResult:
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
    exported = task_folders.ImportResult()
    for task in tasks:
        path = out / task.id
        try:
            with new_folder(path, replace=replace) as folder:
                _write_files(task, folder, mirrors, image)
        except (_UnsupportedTaskError, GitCloneError, PatchDoesNotApplyError) as error:
            exported.rejections.append(Rejection(where=str(task.folder), what=str(error)))
            continue
        exported.written.append(path)
        if task.answer_key.pass_to_pass == "baseline":
            exported.notes.append(f"{task.id}: {_BASELINE_NOTE}")
    return exported


def _write_files(task: Task, target: Path, mirrors: Mirrors, image: str) -> None:
    if (task.folder / ORIGINALS_FOLDER / "task.toml").is_file():
        for name in SHARED_FOLDERS:
            if (task.folder / name).is_dir():
                shutil.copytree(task.folder / name, target / name, symlinks=True)
        shutil.copytree(task.folder / ORIGINALS_FOLDER, target, symlinks=True, dirs_exist_ok=True)
        return
    if task.answer_key.verifier is not None:
        raise _UnsupportedTaskError(
            "a script of its own judges it, and it is no import of Harbor's"
        )
    command = parse_pytest_command(task.problem.test_command)
    if command.runner is not Runner.PYTEST:
        raise _UnsupportedTaskError(f"its tests run under {command.runner}; expected pytest")
    if task.environment.compose is not None:
        raise _UnsupportedTaskError("it has services, which are not exported")
    overlay = apply_patch_to_commit(task.answer_key.tests_patch, mirrors.of(task.source))
    removed = [path.as_posix() for path, file in overlay.items() if file is None]
    hidden = {"tests/hidden" / path: file for path, file in overlay.items() if file}
    judge = files("agentbench.importers.harbor") / "mounted" / _PLUGIN_FILE
    _write_environment(task, target / "environment", image)
    (target / "tests/hidden").mkdir(parents=True)
    texts = {
        "instruction.md": task.problem.instruction.encode(),
        "task.toml": task_toml(task).encode(),
        "tests/test.sh": test_sh(command, judged_targets(task), removed).encode(),
        "tests/expected.json": expected_json(task).encode(),
        f"tests/judge/{_PLUGIN_FILE}": judge.read_bytes(),
        "solution/solve.sh": _SOLVE_SCRIPT.format(place=WORKDIR).encode(),
        "solution/solution.patch": task.answer_key.solution_patch,
    }
    own = {
        PurePosixPath(name): FileContent(content=content, executable=name.endswith(".sh"))
        for name, content in texts.items()
    }
    task_folders.write_files(target, hidden | own)


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
        shutil.copytree(source.files, folder / REPOSITORY_FOLDER, symlinks=True)
    elif bundle is not None:
        shutil.copyfile(str(source.url), folder / bundle)
    (folder / "Dockerfile").write_text(dockerfile(task, base, bundle=bundle), "utf-8")
