"""The files of a task's tests, for graders that copy them over the repository."""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.graders.trial import GraderTask


def write_tests(task: GraderTask, place: Path) -> None:
    """Write the files of all tests that count, and what the hidden tests' patch adds, to a place.

    The visible tests are among them: what these graders' tasks verify, their authors supply.
    """
    with TemporaryDirectory() as scratch:
        tree = shutil.copytree(task.folder / "repo", Path(scratch) / "tree")
        _git_apply(task.tests_patch, tree)
        names = {line.split("\t")[2] for line in _git_apply(task.tests_patch, tree, "--numstat")}
        for name in names.union(task.test_files):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree / name, place / name)


def _git_apply(patch: str, tree: Path, *options: str) -> list[str]:
    argv = ["git", "apply", *options, "-"]
    return subprocess.run(
        argv, cwd=tree, input=patch, check=True, text=True, stdout=subprocess.PIPE
    ).stdout.splitlines()
