"""Imports Terminal-Bench's task folders, by the models of the package `terminal-bench` 0.2.18.

A task's script prints pytest's output and writes no reward. Our script around it reads the summary
like Terminal-Bench's own parser, except that a summary without tests fails.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated

import yaml
from msgspec import Struct, field
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from agentbench.core.schema import Schema, describe_validation_error
from agentbench.importers import task_folders
from agentbench.importers.dockerfiles import parse_dockerfile
from agentbench.importers.task_folders import ConvertedTask, FolderFormat, validation_rejections
from agentbench.importers.terminal_bench_services import (
    ConvertedServices,
    UnsupportedComposeError,
    convert_services,
)
from agentbench.tasks.dataset_rows import Rejection
from agentbench.tasks.problem import TaskId
from agentbench.tasks.scripts import VerifierPlace
from agentbench.tasks.task_file import TaskFile, is_task_id
from agentbench.tasks.users import ROOT_USER, UserName
from agentbench.tasks.writing import NewTask

_OWN_VARIABLE = re.compile(r"\$\{?T_BENCH_\w+\}?")
# Keys of Terminal-Bench's template, and keys without effect on a sleeping container.
_HARMLESS = frozenset({"container_name", "command", "tty", "stdin_open", "init", "platform"})
_KNOWN_KEYS = frozenset({"build", "image", "environment", "volumes"})
ORIGINALS_FOLDER = "terminal-bench"
"""The folder in a task that keeps Terminal-Bench's own files."""
_COMPOSE_FILE = "docker-compose.yaml"
_VERIFIER_SCRIPT = "agentbench-verify.sh"
_DEFAULT_WORKDIR = PurePosixPath("/app")  # of Terminal-Bench's base images
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


class TerminalBenchTaskFile(Schema):
    """The whole file; keys that do not affect a run are collected separately."""

    model_config = ConfigDict(extra="allow")

    instruction: Annotated[str, Field(min_length=1)]
    difficulty: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    parser_name: str = "pytest"
    max_agent_timeout_sec: task_folders.Seconds = 360.0
    max_test_timeout_sec: task_folders.Seconds = 60.0
    run_tests_in_same_shell: bool = False


class SolutionStep(Schema):
    """One line of keystrokes of a solution.yaml."""

    command: str
    min_timeout_sec: float = 0.0
    max_timeout_sec: float = 180.0
    block: bool = False
    append_enter: bool = True


def parse_yaml(text: str, where: str) -> object | Rejection:
    """The plain values in a YAML file; tags create no other objects."""
    try:
        found: object = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Rejection(where=where, what=f"not valid YAML: {' '.join(str(error).split())[:200]}")
    return found


def parse_terminal_bench_task_file(
    text: str, *, where: str
) -> TerminalBenchTaskFile | list[Rejection]:
    """Parse the text of a task.yaml; returns all its faults if it is invalid."""
    found = parse_yaml(text, where)
    if isinstance(found, Rejection):
        return [found]
    if not isinstance(found, dict):
        return [Rejection(where=where, what="expected keys and values, found something else")]
    try:
        return TerminalBenchTaskFile.model_validate(found)
    except ValidationError as error:
        return validation_rejections(error, TerminalBenchTaskFile, where=where)


class ComposeService(Struct, frozen=True, kw_only=True):
    """The container in a compose file."""

    dockerfile: str | None = "Dockerfile"
    image: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    services: ConvertedServices | None = None
    """The whole compose file, if it is more than one plain container."""

    @property
    def is_built(self) -> bool:
        """Whether the task's folder is the context of an image."""
        return self.dockerfile is not None or self.services is not None


def single_service(document: object) -> ComposeService:
    """The only container of a compose file.

    Raises:
        UnsupportedComposeError: a sandbox cannot replace it.
    """
    services = document.get("services") if isinstance(document, dict) else None
    if not isinstance(services, dict) or not services:
        raise UnsupportedComposeError("services: names no container")
    if len(services) > 1:
        names = ", ".join(sorted(map(str, services)))
        many = f"starts {len(services)} ({names})"
        raise UnsupportedComposeError(f"services: {many}; a sandbox is one")
    ((name, service),) = services.items()
    if not isinstance(service, dict):
        raise UnsupportedComposeError(f"services.{name}: is not a table")
    where = f"services.{name}"
    for key in service.keys() - _HARMLESS - _KNOWN_KEYS:
        raise UnsupportedComposeError(
            f"{where}.{key}: requires something that a sandbox does not have"
        )
    for volume in service.get("volumes") or ():
        if not _OWN_VARIABLE.search(str(volume)):
            what = f"mounts {str(volume)[:80]!r}, which does not exist here"
            raise UnsupportedComposeError(f"{where}.volumes: {what}")
    return _parse_service(service, where)


def _parse_service(service: dict[object, object], where: str) -> ComposeService:
    env = dict(_variables(service.get("environment"), where))
    build, image = service.get("build"), service.get("image")
    if build is None:
        if not isinstance(image, str) or "$" in image:
            raise UnsupportedComposeError(f"{where}: has neither a build nor the name of an image")
        return ComposeService(dockerfile=None, image=image, env=env)
    if isinstance(build, str):
        build = {"context": build}
    if not isinstance(build, dict) or build.keys() - {"context", "dockerfile"}:
        raise UnsupportedComposeError(f"{where}.build: has more than a context and a dockerfile")
    if str(build.get("context", ".")).rstrip("/") not in {".", ""}:
        raise UnsupportedComposeError(f"{where}.build.context: is not the task's own folder")
    return ComposeService(dockerfile=str(build.get("dockerfile", "Dockerfile")), env=env)


def _variables(variables: object, where: str) -> Iterator[tuple[str, str]]:
    pairs = variables.items() if isinstance(variables, dict) else _split_variables(variables or ())
    for key, value in pairs:
        text = "" if value is None else str(value)
        if _OWN_VARIABLE.search(text):
            continue  # Terminal-Bench's own variables, such as TEST_DIR
        if "$" in text:
            what = f"{where}.environment.{key}"
            raise UnsupportedComposeError(f"{what}: would be taken from the host")
        yield str(key), text


def _split_variables(variables: object) -> Iterator[tuple[str, str]]:
    for each in variables if isinstance(variables, (list, tuple)) else ():
        key, _, value = str(each).partition("=")
        yield key, value


_STEPS = TypeAdapter(tuple[SolutionStep, ...])


class _FolderContents(Struct, kw_only=True):
    form: TerminalBenchTaskFile | None = None
    container: ComposeService | None = None
    solution: bytes = b""
    faults: list[Rejection] = field(default_factory=list)


def read_terminal_bench_task(folder: Path) -> ConvertedTask | list[Rejection]:
    """Read a folder; returns all the reasons if it cannot be imported."""
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
        unsupported["parser_name"] = f"is {name!r}; only the parser for pytest is supported here"
    if form.run_tests_in_same_shell:
        what = "requires the agent's own shell; the tests run in a shell of their own"
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
            container = _container_of(document)
        except UnsupportedComposeError as error:
            where, _, what = str(error).partition(": ")
            found.faults.append(Rejection(where=str(compose), field=where, what=what))
            return
    found.container = container
    if container.dockerfile is not None and not (folder / container.dockerfile).is_file():
        found.faults.append(Rejection(where=str(folder / container.dockerfile), what="is missing"))


def _container_of(document: object) -> ComposeService:
    """A plain container, or else the client of several with the other services.

    Raises:
        UnsupportedComposeError: a sandbox can be neither.
    """
    try:
        return single_service(document)
    except UnsupportedComposeError:
        services = document.get("services") if isinstance(document, dict) else None
        if not services:
            raise
    converted = convert_services(document)
    return ComposeService(dockerfile=converted.dockerfile, services=converted)


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
        faults = validation_rejections(error, SolutionStep, where=str(steps))
        found.faults.append(faults[0])
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
        user = _user(folder, container)
        table = TaskFile.model_validate(_values(form, container, task_id, workdir, user))
    except ValueError as error:
        faults = error.errors() if isinstance(error, ValidationError) else []
        messages = [describe_validation_error(each, TaskFile) for each in faults] or [
            f"Dockerfile: {error}"
        ]
        return [Rejection(where=str(folder), what=each) for each in messages]
    judging = {f"tests/{_VERIFIER_SCRIPT}": _VERIFIER_TEXT.encode()}
    judging["tests/run-tests.sh"] = (folder / "run-tests.sh").read_bytes()
    if container.services is not None:
        judging[f"environment/{_COMPOSE_FILE}"] = container.services.text.encode()
    new = NewTask(
        id=task_id,
        table=table,
        instruction=form.instruction,
        folders={"tests": folder / "tests"} if (folder / "tests").is_dir() else {},
        copies=dict(_copies(folder, container)),
        files={**judging, "solution/solution.sh": solution},
    )
    return ConvertedTask(new=new, notes=tuple(_notes(form, user)))


def _values(
    form: TerminalBenchTaskFile,
    container: ComposeService,
    task_id: TaskId,
    workdir: PurePosixPath,
    user: UserName,
) -> Mapping[str, object]:
    environment: dict[str, object] = {"env": container.env, "user": user}
    if container.services is not None:
        environment["compose"] = f"environment/{_COMPOSE_FILE}"
    elif container.dockerfile is None:
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
            "environment": VerifierPlace.SHARED,
            "network": True,
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
        if parts[0] not in own and container.is_built:
            yield f"environment/{name}", path
        elif parts[0] != "tests":
            yield f"{ORIGINALS_FOLDER}/{name}", path


def _workdir(folder: Path, container: ComposeService) -> PurePosixPath:
    """The image's working folder."""
    if container.services is not None and container.services.workdir is not None:
        return PurePosixPath(container.services.workdir)
    if container.dockerfile is None:
        return _DEFAULT_WORKDIR
    text = task_folders.read_text(folder / container.dockerfile)
    found = parse_dockerfile(text).workdir if isinstance(text, str) else None
    return found or _DEFAULT_WORKDIR


def _user(folder: Path, container: ComposeService) -> UserName:
    """The user of the container, which runs the agent and the tests."""
    named = container.services.user if container.services is not None else None
    if named is None and container.dockerfile is not None:
        text = task_folders.read_text(folder / container.dockerfile)
        named = parse_dockerfile(text).user_of(None) if isinstance(text, str) else None
    name = (named or ROOT_USER).partition(":")[0]
    return ROOT_USER if name == "0" else name


def _notes(form: TerminalBenchTaskFile, user: UserName) -> Iterator[str]:
    yield (
        "the script judges in the agent's own container with a network, as in Terminal-Bench; this "
        "is weaker than in a container of its own"
    )
    yield "the agent has no network"
    if user == ROOT_USER:
        yield "the agent is root of its container"
    author_keys = {"author_name", "author_email"}
    if unused := sorted(set(form.model_extra or {}) - author_keys):
        yield f"not used here: {', '.join(unused)}"


TERMINAL_BENCH = FolderFormat(file="task.yaml", read=read_terminal_bench_task)
"""Terminal-Bench's format."""
