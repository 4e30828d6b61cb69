"""A new task's folder with comments, ready to fill in."""

from pathlib import Path
from typing import Final

from agentbench.errors import UsageError
from agentbench.tasks.loading import TASK_FILE
from agentbench.tasks.steps import INSTRUCTION_FILE
from agentbench.tasks.task_file import is_task_id
from agentbench.tasks.writing import new_folder

_TASK_TOML = """\
schema_version = 1
title = ""            # one line about the bug, such as "Leading spaces hide the first word"
tags = []             # any words; `--tag` selects tasks by them
# id = "my-task"      # default: the name of this folder

[repo]
path = "repo"         # the project at the buggy commit, as plain files; or a git repository:
# url = "https://example.org/project.git"
# commit = "0123456789abcdef0123456789abcdef01234567"

# Commands that install what the project needs. pytest is in the base image already.
# [setup]
# commands = ["pip install -e ."]

[tests]
command = "python -m pytest"
paths = ["tests"]     # where the tests are; agentbench restores these paths before it judges
timeout_s = 300
# Leave out the two lists: `agentbench validate FOLDER --write-ids` finds the tests and writes them.
# fail_to_pass = ["tests/test_hidden.py::test_the_bug"]
# pass_to_pass = "baseline"

# The limits of the agent.
# [agent]
# timeout_s = 1800
# max_steps = 50
# max_cost_usd = 2.0

# The sandbox.
# [environment]
# image = "agentbench/python:3.11"
# memory_mib = 2048
"""
_INSTRUCTION = """\
<!-- Replace this comment with the bug report that the agent reads: what happens, and what should
happen. It says nothing about the fix or the hidden tests. -->
"""
_TESTS_PATCH = """\
# Replace these lines with the hidden tests, as a patch over repo/. In a copy of repo/ under git,
# write the tests and run: git add --intent-to-add . && git diff > tests.patch
"""
_SOLUTION_PATCH = """\
# Replace these lines with the reference fix, as a patch over repo/. In a copy of repo/ under git,
# fix the bug and run: git diff > solution.patch
"""
FILES: Final = {
    TASK_FILE: _TASK_TOML,
    INSTRUCTION_FILE: _INSTRUCTION,
    "tests.patch": _TESTS_PATCH,
    "solution.patch": _SOLUTION_PATCH,
}
"""The files of a new task by name; its folder `repo` is empty."""


def write_scaffold(folder: Path) -> None:
    """Write the folder of a new task.

    Raises:
        UsageError: the folder exists, cannot be written, or its name is not a task's id.
    """
    name = folder.resolve().name
    if folder.exists():
        raise UsageError(f"{folder}: already exists; name a new folder")
    if not is_task_id(name):
        raise UsageError(
            f"{folder}: a task's folder is named by its id; expected [a-z0-9._-]+, found {name!r}"
        )
    try:
        with new_folder(folder, replace=False) as scratch:
            (scratch / "repo").mkdir()
            for file, text in FILES.items():
                (scratch / file).write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error
