"""One of Terminal-Bench's task folders as a task of ours, or the reasons why it is none.

Its script prints what pytest says and leaves no reward; a script of ours around it reads the
summary, as Terminal-Bench's own parser does, but for a summary without one test.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pydantic import TypeAdapter, ValidationError

from agentbench.tasks.importers.folder_files import LEFT_OUT, read_text, script_fault, tree_faults
from agentbench.tasks.importers.harbor.workdir import workdir_of
from agentbench.tasks.importers.refusal import Refusal
from agentbench.tasks.importers.terminal_bench.compose import (
    Container,
    SeveralError,
    container_of,
)
from agentbench.tasks.importers.terminal_bench.form import (
    SolutionStep,
    TerminalForm,
    parse_form,
    parsed_yaml,
)
from agentbench.tasks.new_task import NewTask
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_fault import describe_fault
from agentbench.tasks.task_file import TaskFile, is_task_id

KEPT = "terminal-bench"
"""The folder in a task that keeps what Terminal-Bench's had and ours has not."""

_COMPOSE = "docker-compose.yaml"
_JUDGES = "agentbench-verify.sh"
_PLACE = PurePosixPath("/app")  # where Terminal-Bench's own base images work
_STEPS = TypeAdapter(tuple[SolutionStep, ...])
_KEYS = ("C-", "M-", "Enter", "Escape", "Tab", "Up", "Down", "Left", "Right", "BSpace")
_VERIFY = """\
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalTask:
    """What a folder of Terminal-Bench's becomes."""

    new: NewTask
    notes: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Found:
    """What of a folder has been understood so far."""

    form: TerminalForm | None = None
    container: Container | None = None
    solution: bytes = b""
    faults: list[Refusal] = field(default_factory=list)


def read_task(folder: Path) -> TerminalTask | list[Refusal]:
    """Read a folder; all the reasons where it cannot be taken."""
    found = _Found(faults=list(tree_faults(folder)))
    _read_form(folder, found)
    _read_container(folder, found)
    _read_solution(folder, found)
    fault = script_fault(folder / "run-tests.sh")
    if fault is not None:
        found.faults.append(fault)
    if found.faults or found.form is None or found.container is None:
        return found.faults
    return _made(folder, found.form, found.container, found.solution)


def _read_form(folder: Path, found: _Found) -> None:
    where = folder / "task.yaml"
    text = read_text(where)
    form = parse_form(text, where=str(where)) if isinstance(text, str) else [text]
    if isinstance(form, list):
        found.faults += form
        return
    found.form = form
    if form.parser_name != "pytest":
        said = f"is {form.parser_name[:40]!r}; of its parsers pytest's alone is known here"
        found.faults.append(Refusal(where=str(where), field="parser_name", what=said))
    if form.run_tests_in_same_shell:
        said = "asks for the agent's own shell; the tests run in a container of their own"
        found.faults.append(Refusal(where=str(where), field="run_tests_in_same_shell", what=said))


def _read_container(folder: Path, found: _Found) -> None:
    compose = folder / _COMPOSE
    container = Container()
    if compose.exists():
        text = read_text(compose)
        document = parsed_yaml(text, str(compose)) if isinstance(text, str) else text
        if isinstance(document, Refusal):
            found.faults.append(document)
            return
        try:
            container = container_of(document)
        except SeveralError as error:
            where, _, what = str(error).partition(": ")
            found.faults.append(Refusal(where=str(compose), field=where, what=what))
            return
    found.container = container
    if container.dockerfile is not None and not (folder / container.dockerfile).is_file():
        found.faults.append(Refusal(where=str(folder / container.dockerfile), what="is missing"))


def _read_solution(folder: Path, found: _Found) -> None:
    script = folder / "solution.sh"
    if script.exists():
        fault = script_fault(script)
        found.faults += [fault] if fault is not None else []
        found.solution = script.read_bytes()
        return
    steps = folder / "solution.yaml"
    text = read_text(steps)
    document = parsed_yaml(text, str(steps)) if isinstance(text, str) else text
    if isinstance(document, Refusal):
        found.faults.append(document)
        return
    try:
        found.solution = _script_of(_STEPS.validate_python(document)).encode()
    except ValidationError as error:
        said, _, what = describe_fault(error.errors()[0], SolutionStep).partition(": ")
        found.faults.append(Refusal(where=str(steps), field=said, what=what))
    except SeveralError as error:
        found.faults.append(Refusal(where=str(steps), what=str(error)))


def _script_of(steps: tuple[SolutionStep, ...]) -> str:
    """The lines that the keystrokes type.

    Raises:
        SeveralError: they speak with a program, and no script can.
    """
    for number, step in enumerate(steps):
        if not step.append_enter or step.command.startswith(_KEYS):
            raise SeveralError(
                f"step {number + 1} types {step.command[:40]!r} into a program at a terminal; "
                "only lines for a shell can be a script"
            )
    return "".join(f"{line}\n" for line in ("#!/bin/bash", *(step.command for step in steps)))


def _made(
    folder: Path, form: TerminalForm, container: Container, solution: bytes
) -> TerminalTask | list[Refusal]:
    name = folder.resolve().name.lower()
    if not is_task_id(name):
        said = f"{name[:80]!r} is no id of [a-z0-9._-]+; rename the folder"
        return [Refusal(where=str(folder), what=said)]
    task_id = TaskId(name)
    try:
        workdir = _workdir(folder, container)
        table = TaskFile.model_validate(_values(form, container, task_id, workdir))
    except ValueError as error:
        faults = error.errors() if isinstance(error, ValidationError) else []
        told = [describe_fault(each, TaskFile) for each in faults] or [f"Dockerfile: {error}"]
        return [Refusal(where=str(folder), what=each) for each in told]
    judging = {f"tests/{_JUDGES}": _VERIFY.encode()}
    judging["tests/run-tests.sh"] = (folder / "run-tests.sh").read_bytes()
    new = NewTask(
        id=task_id,
        table=table,
        instruction=form.instruction,
        folders={"tests": folder / "tests"} if (folder / "tests").is_dir() else {},
        copies=dict(_copies(folder, container)),
        files={**judging, "solution/solution.sh": solution},
    )
    return TerminalTask(new=new, notes=tuple(_notes(workdir, form)))


def _values(
    form: TerminalForm, container: Container, task_id: TaskId, workdir: PurePosixPath
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
        "verifier": {"command": f"sh /tests/{_JUDGES}", "timeout_s": form.max_test_timeout_sec},
        "solution": {"command": "bash /solution/solution.sh"},
        "agent": {"timeout_s": form.max_agent_timeout_sec},
    }


def _copies(folder: Path, container: Container) -> Iterator[tuple[str, Path]]:
    """What the image is built of, no answer among it, and what only Terminal-Bench reads."""
    own = {"tests", "solution.sh", "solution.yaml", "run-tests.sh", "task.yaml", _COMPOSE}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if not path.is_file() or not LEFT_OUT.isdisjoint(parts):
            continue
        name = "/".join(parts)
        if parts[0] not in own and container.dockerfile is not None:
            yield f"environment/{name}", path
        elif parts[0] != "tests":
            yield f"{KEPT}/{name}", path


def _workdir(folder: Path, container: Container) -> PurePosixPath:
    """The image's working folder.

    Raises:
        ValueError: it depends on a variable.
    """
    if container.dockerfile is None:
        return _PLACE
    text = read_text(folder / container.dockerfile)
    return (workdir_of(text) if isinstance(text, str) else None) or _PLACE


def _notes(workdir: PurePosixPath, form: TerminalForm) -> Iterator[str]:
    yield (
        "the agent and the script run as an unprivileged user without a network ([verifier] "
        f"network gives the script one); of what the agent leaves, files below {workdir} are judged"
    )
    said = {"author_name", "author_email"}
    if unused := sorted(set(form.model_extra or {}) - said):
        yield f"not used here: {', '.join(unused)}"
