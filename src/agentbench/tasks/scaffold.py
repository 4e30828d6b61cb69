"""A new task's folder with comments, ready to fill in."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from agentbench.errors import UsageError
from agentbench.tasks.loading import TASK_FILE
from agentbench.tasks.steps import INSTRUCTION_FILE
from agentbench.tasks.task_file import is_task_id
from agentbench.tasks.test_runner_name import RUNNER_COMMANDS, Runner
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

# Commands that install what the project needs. {provided}
# [setup]
# commands = ["{setup}"]

[tests]
{tests}
timeout_s = 300
# Leave out the two lists: `agentbench validate FOLDER --write-ids` finds the tests and writes them.
# fail_to_pass = ["{example}"]
# pass_to_pass = "baseline"

# The limits of the agent.
# [agent]
# timeout_s = 1800
# max_steps = 50
# max_cost_usd = 2.0

# The sandbox.
{environment}
# memory_mib = 2048
"""
_PATHS = (
    'paths = ["{}"]     # where the tests are; agentbench restores these paths before it judges'
)
_BESIDE = "# paths = []         # folders of tests; files of tests are restored wherever they are"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Language:
    """What a new task says of its language."""

    setup: str
    example: str
    tests: str = _BESIDE
    tool: str = ""  # for `agentbench images build --with`
    image: str = "agentbench/python:3.11"


_PYTHON = _Language(
    setup="pip install -e .",
    tests=_PATHS.format("tests"),
    example="tests/test_hidden.py::test_the_bug",
)
_NODE = _Language(
    setup="npm ci",
    tests=_PATHS.format("test"),
    example="test/hidden.test.js::the bug",
    tool="node",
    image="agentbench/python:3.11-node18",
)
_LANGUAGES: Mapping[Runner, _Language] = {
    Runner.PYTEST: _PYTHON,
    Runner.UNITTEST: replace(_PYTHON, example="tests/test_hidden.py::HiddenTest::test_the_bug"),
    Runner.DJANGO: _PYTHON,
    Runner.JEST: _NODE,
    Runner.VITEST: _NODE,
    Runner.MOCHA: _NODE,
    Runner.NODE: _NODE,
    Runner.GO: _Language(
        setup="go mod download",
        example="calc/sum_test.go::TestSum/three",
        tool="go",
        image="agentbench/python:3.11-go1.19",
    ),
    Runner.CARGO: _Language(
        setup="cargo fetch",
        example="src/lib.rs::tests::the_bug",
        tool="rust",
        image="agentbench/python:3.11-rust1.63",
    ),
    Runner.JUNIT: _Language(
        setup="mvn -B dependency:go-offline",
        example="src/test/java/org/example/SumTest.java::theBug",
        tool="java",
        image="agentbench/python:3.11-java17",
    ),
    Runner.TAP: _Language(setup="make", example="t/sum.t::the bug"),
}
_COMMANDS = {
    Runner.JUNIT: 'command = "mvn -o -B test"\nreport = "**/target/surefire-reports/*.xml"',
    Runner.TAP: 'command = "prove --verbose --recurse t"',
}
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
FILES: Final = (TASK_FILE, INSTRUCTION_FILE, "tests.patch", "solution.patch")
"""The names of the files of a new task; its folder `repo` is empty."""


def _task_toml(runner: Runner) -> str:
    language = _LANGUAGES[runner]
    command = _COMMANDS.get(runner) or f'command = "{RUNNER_COMMANDS[runner].usual}"'
    named = "" if runner is Runner.PYTEST else f'runner = "{runner.value}"\n'
    # An image would keep a sandbox without an engine from using the tools of its machine.
    environment = f'# [environment]\n# image = "{language.image}"'
    provided = "pytest is in the base image already."
    if language.tool:
        environment = f"# agentbench images build --with {language.tool}\n{environment}"
        provided = f"{language.tool} is in the image below."
    return _TASK_TOML.format(
        provided=provided,
        setup=language.setup,
        tests=f"{named}{command}\n{language.tests}",
        example=language.example,
        environment=environment,
    )


def write_scaffold(folder: Path, runner: Runner = Runner.PYTEST) -> None:
    """Write the folder of a new task, whose tests a runner runs.

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
            texts = (_task_toml(runner), _INSTRUCTION, _TESTS_PATCH, _SOLUTION_PATCH)
            for file, text in zip(FILES, texts, strict=True):
                (scratch / file).write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error
