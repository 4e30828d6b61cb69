"""Imports Terminal-Bench's task folders: each becomes a task, or is rejected with reasons.

A task's script prints pytest's output and writes no reward. Our script around it reads the summary
like Terminal-Bench's own parser, except that a summary without tests fails.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pydantic import TypeAdapter, ValidationError

from agentbench.core.schema import describe_validation_error
from agentbench.importers import task_folders
from agentbench.importers.task_folders import ConvertedTask, FolderFormat
from agentbench.importers.terminal_bench.task_yaml import (
    ComposeService,
    SolutionStep,
    TerminalBenchTaskFile,
    UnsupportedComposeError,
    parse_terminal_bench_task_file,
    parse_yaml,
    single_service,
)
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_file import TaskFile, is_task_id
from agentbench.tasks.writing import NewTask

ORIGINALS_FOLDER = "terminal-bench"
"""The folder in a task that keeps Terminal-Bench's own files."""

_COMPOSE_FILE = "docker-compose.yaml"
_VERIFIER_SCRIPT = "agentbench-verify.sh"
_DEFAULT_WORKDIR = PurePosixPath("/app")  # of Terminal-Bench's base images
_STEPS = TypeAdapter(tuple[SolutionStep, ...])
_KEYS = ("C-", "M-", "Enter", "Escape", "Tab", "Up", "Down", "Left", "Right", "BSpace")
_VERIFIER_TEXT = """\
#!/bin/sh
# What Terminal-Bench's parser makes of the output of run-tests.sh, as a reward.
log=/logs/verifier/run-tests.log
TEST_DIR=/tests bash /tests/run-tests.sh > "$log" 2>&1
cat "$log"
awk '
  /=+ *short test summary info *=+/ { on = 1; next }
  on && /^(PASSED|XFAIL|SKIPPED):? / { good = 1 }
  on && /^(FAILED|XPASS|ERROR):? / { bad = 1 }
  END { print (good && !bad) ? 1 : 0 }
' "$log" > /logs/verifier/reward.txt
"""


@dataclass(slots=True, kw_only=True)
class _FolderContents:
    form: TerminalBenchTaskFile | None = None
    container: ComposeService | None = None
    solution: bytes = b""
    faults: list[Rejection] = field(default_factory=list)


def read_terminal_bench_task(folder: Path) -> ConvertedTask | list[Rejection]:
    """Read a folder; if it cannot be imported, all the reasons."""
    found = _FolderContents(faults=list(task_folders.tree_faults(folder)))
    _read_task_yaml(folder, found)
    _read_container(folder, found)
    _read_solution(folder, found)
    fault = task_folders.script_fault(folder / "run-tests.sh")
    if fault is not None:
        found.faults.append(fault)
    if found.faults or found.form is None or found.container is None:
        return found.faults
    return _convert(folder, found.form, found.container, found.solution)


def _read_task_yaml(folder: Path, found: _FolderContents) -> None:
    text = task_folders.read_text(folder / "task.yaml")
    where = str(folder / "task.yaml")
    form = parse_terminal_bench_task_file(text, where=where) if isinstance(text, str) else [text]
    if isinstance(form, list):
        found.faults += form
        return
    found.form = form
    unsupported = {}
    if form.parser_name != "pytest":
        name = form.parser_name[:40]
        unsupported["parser_name"] = f"is {name!r}; of its parsers pytest's alone is known here"
    if form.run_tests_in_same_shell:
        what = "asks for the agent's own shell; the tests run in a container of their own"
        unsupported["run_tests_in_same_shell"] = what
    found.faults += [
        Rejection(where=where, field=field, what=what) for field, what in unsupported.items()
    ]


def _read_container(folder: Path, found: _FolderContents) -> None:
    compose = folder / _COMPOSE_FILE
    container = ComposeService()
    if compose.exists():
        document = _read_yaml(compose)
        if isinstance(document, Rejection):
            found.faults.append(document)
            return
        try:
            container = single_service(document)
        except UnsupportedComposeError as error:
            where, _, what = str(error).partition(": ")
            found.faults.append(Rejection(where=str(compose), field=where, what=what))
            return
    found.container = container
    if container.dockerfile is not None and not (folder / container.dockerfile).is_file():
        found.faults.append(Rejection(where=str(folder / container.dockerfile), what="is missing"))


def _read_solution(folder: Path, found: _FolderContents) -> None:
    script = folder / "solution.sh"
    if script.exists():
        fault = task_folders.script_fault(script)
        found.faults += [fault] if fault is not None else []
        found.solution = script.read_bytes()
        return
    steps = folder / "solution.yaml"
    document = _read_yaml(steps)
    if isinstance(document, Rejection):
        found.faults.append(document)
        return
    try:
        found.solution = _script_of(_STEPS.validate_python(document)).encode()
    except ValidationError as error:
        found.faults += task_folders.validation_rejections(error, SolutionStep, where=str(steps))[
            :1
        ]
    except UnsupportedComposeError as error:
        found.faults.append(Rejection(where=str(steps), what=str(error)))


def _read_yaml(path: Path) -> object | Rejection:
    text = task_folders.read_text(path)
    return parse_yaml(text, str(path)) if isinstance(text, str) else text


def _script_of(steps: tuple[SolutionStep, ...]) -> str:
    """The shell lines that the keystrokes type."""
    for number, step in enumerate(steps):
        if not step.append_enter or step.command.startswith(_KEYS):
            raise UnsupportedComposeError(
                f"step {number + 1} types {step.command[:40]!r} into a program at a terminal; "
                "only lines for a shell can be a script"
            )
    return "".join(f"{line}\n" for line in ("#!/bin/bash", *(step.command for step in steps)))


def _convert(
    folder: Path, form: TerminalBenchTaskFile, container: ComposeService, solution: bytes
) -> ConvertedTask | list[Rejection]:
    name = folder.resolve().name.lower()
    if not is_task_id(name):
        message = f"{name[:80]!r} is not an id of [a-z0-9._-]+; rename the folder"
        return [Rejection(where=str(folder), what=message)]
    task_id = TaskId(name)
    try:
        workdir = _workdir(folder, container)
        table = TaskFile.model_validate(_values(form, container, task_id, workdir))
    except ValueError as error:
        faults = error.errors() if isinstance(error, ValidationError) else []
        told = [describe_validation_error(each, TaskFile) for each in faults] or [
            f"Dockerfile: {error}"
        ]
        return [Rejection(where=str(folder), what=each) for each in told]
    judging = {f"tests/{_VERIFIER_SCRIPT}": _VERIFIER_TEXT.encode()}
    judging["tests/run-tests.sh"] = (folder / "run-tests.sh").read_bytes()
    new = NewTask(
        id=task_id,
        table=table,
        instruction=form.instruction,
        folders={"tests": folder / "tests"} if (folder / "tests").is_dir() else {},
        copies=dict(_copies(folder, container)),
        files={**judging, "solution/solution.sh": solution},
    )
    return ConvertedTask(new=new, notes=tuple(_notes(workdir, form)))


def _values(
    form: TerminalBenchTaskFile, container: ComposeService, task_id: TaskId, workdir: PurePosixPath
) -> Mapping[str, object]:
    environment: dict[str, object] = {"env": container.env}
    if container.dockerfile is None:
        environment["image"] = container.image
    else:
        environment["dockerfile"] = f"environment/{container.dockerfile}"
    tags = ("terminal-bench", *form.tags, form.category, form.difficulty)
    return {
        "schema_version": 1,
        "id": task_id,
        "title": task_id,
        "tags": tuple(dict.fromkeys(tag for tag in tags if tag)),
        "repo": {"workdir": str(workdir)},
        "environment": environment,
        "verifier": {
            "command": f"sh /tests/{_VERIFIER_SCRIPT}",
            "timeout_s": form.max_test_timeout_sec,
        },
        "solution": {"command": "bash /solution/solution.sh"},
        "agent": {"timeout_s": form.max_agent_timeout_sec},
    }


def _copies(folder: Path, container: ComposeService) -> Iterator[tuple[str, Path]]:
    """The build context of the image, without answers and Terminal-Bench's own files."""
    own = {"tests", "solution.sh", "solution.yaml", "run-tests.sh", "task.yaml", _COMPOSE_FILE}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if not path.is_file() or not task_folders.IGNORED_NAMES.isdisjoint(parts):
            continue
        name = "/".join(parts)
        if parts[0] not in own and container.dockerfile is not None:
            yield f"environment/{name}", path
        elif parts[0] != "tests":
            yield f"{ORIGINALS_FOLDER}/{name}", path


def _workdir(folder: Path, container: ComposeService) -> PurePosixPath:
    """The image's working folder."""
    if container.dockerfile is None:
        return _DEFAULT_WORKDIR
    text = task_folders.read_text(folder / container.dockerfile)
    found = task_folders.dockerfile_workdir(text) if isinstance(text, str) else None
    return found or _DEFAULT_WORKDIR


def _notes(workdir: PurePosixPath, form: TerminalBenchTaskFile) -> Iterator[str]:
    yield (
        "the agent and the script run as an unprivileged user without a network ([verifier] "
        f"network gives the script one); of what the agent leaves, files below {workdir} are judged"
    )
    said = {"author_name", "author_email"}
    if unused := sorted(set(form.model_extra or {}) - said):
        yield f"not used here: {', '.join(unused)}"


TERMINAL_BENCH = FolderFormat(file="task.yaml", read=read_terminal_bench_task)
"""Terminal-Bench's format."""
