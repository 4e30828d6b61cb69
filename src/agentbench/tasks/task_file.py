"""The format of `task.toml`: its keys, and the messages about wrong ones."""

import re
import tomllib
from pathlib import PurePosixPath
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from agentbench.core.schema import Schema, describe_validation_error
from agentbench.errors import InputError
from agentbench.scoring.evidence import NodeId
from agentbench.scoring.node_ids import file_of, is_node_id
from agentbench.scoring.steps import RewardStrategy
from agentbench.tasks import scripts
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.mcp_servers import McpServer
from agentbench.tasks.problem import AgentLimits, Seconds, TaskId
from agentbench.tasks.steps import StepTable, check_steps
from agentbench.tasks.task import EnvironmentSettings, TaskSetup
from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import RUNNER_COMMANDS, Runner

# A workspace is read as a whole, and its files are given to the agent's user.
_SYSTEM_FOLDERS = frozenset(
    {"/", "/bin", "/boot", "/etc", "/lib", "/lib64", "/sbin", "/usr", "/var"}
)  # fmt: skip
# Each of these is mounted or emptied by agentbench or by the engine.
_RESERVED_FOLDERS = frozenset(
    {"/agentbench", "/dev", "/logs", "/proc", "/results", "/run", "/sys", "/tests"}
)  # fmt: skip
_ID = re.compile(r"[a-z0-9][a-z0-9._-]*")
_URL = re.compile(
    r"(https://(?!-)|ssh://(?!-)(?![^/]*@-)|file:///|\w[\w.-]*@\w[\w.-]*:(?!/?/))\S+", re.ASCII
)
_MAX_ID_LENGTH = 100


def check_workdir(path: str) -> str:
    """The path of a folder that belongs to a task, normalised.

    Raises:
        ValueError: it is not a valid path; says why.
    """
    folder = PurePosixPath(path)
    if not folder.is_absolute() or ".." in folder.parts or not path.isprintable():
        raise ValueError("is not an absolute path of a folder in the image")
    if str(folder) in _SYSTEM_FOLDERS or str(PurePosixPath(*folder.parts[:2])) in _RESERVED_FOLDERS:
        raise ValueError("is a folder of the system or of agentbench; give one of the task's own")
    return str(folder)


def is_task_id(text: str) -> bool:
    """Whether a text is a valid task id; ids become parts of paths and labels."""
    return len(text) <= _MAX_ID_LENGTH and _ID.fullmatch(text) is not None


def _task_id(text: TaskId) -> TaskId:
    if not is_task_id(text):
        raise ValueError(
            f"is not a valid id; give one of [a-z0-9._-]+, at most {_MAX_ID_LENGTH} characters"
        )
    return text


def _check_folder(path: str) -> str:
    if not PurePosixPath(scripts.check_inside(path)).parts:
        raise ValueError("is the task's own folder, with its answers; give a folder below it")
    return path


def is_git_bundle(url: str) -> bool:
    """Whether a `repo.url` names a git bundle in the task's folder."""
    return url.endswith(".bundle") and "://" not in url


def _clone_url(url: str) -> str:
    if is_git_bundle(url):
        return scripts.check_inside(url)
    if not _URL.fullmatch(url) or scripts.CONTROL.search(url):
        raise ValueError("is not an https, ssh or file URL, and not a .bundle next to task.toml")
    return url


def _commit(commit: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise ValueError("is not a full hash of 40 hex digits; a branch or tag can move")
    return commit


def _node_id(node_id: NodeId) -> NodeId:
    if node_id.startswith("-") or not is_node_id(node_id):
        raise ValueError("is not a pytest node id like tests/test_a.py::test_b")
    scripts.check_inside(file_of(node_id))
    return NodeId(scripts.check_argument(node_id))


def _listed_test(name: NodeId, info: ValidationInfo) -> NodeId:
    """A node id, or a name that the table's runner prints, such as `test_x (module.Class)`."""
    runner = (info.data or {}).get("runner", Runner.PYTEST)
    if runner is Runner.PYTEST or is_node_id(name):
        return _node_id(name)
    if not name.strip():
        raise ValueError("is empty; give a node id or a name that the runner prints")
    return NodeId(scripts.check_argument(name))


def _kind_of_ids(value: object) -> str:
    return "word" if isinstance(value, str) else "list"


def with_usual_command(values: object, key: str) -> object:
    """A table's values, with the usual command of its runner if they have no command."""
    if not isinstance(values, dict) or values.get("runner") not in set(Runner):
        return values
    return {key: RUNNER_COMMANDS[Runner(values["runner"])].usual, **values}


def _test_command(command: str, info: ValidationInfo) -> str:
    parse_test_command(command, (info.data or {}).get("runner"))
    return command


TestLine = Annotated[str, AfterValidator(_test_command)]
ListedId = Annotated[NodeId, AfterValidator(_node_id)]
ListedTest = Annotated[NodeId, AfterValidator(_listed_test)]
# Tagged, so that a wrong value is one fault and not one for each member of the union.
ListedIds = Annotated[
    Annotated[tuple[ListedTest, ...], Tag("list")] | Annotated[Literal["baseline"], Tag("word")],
    Discriminator(_kind_of_ids),
]


class RepoTable(Schema):
    """`[repo]`: files in the task's folder, a URL and a commit, or a folder of the image."""

    path: Annotated[str, AfterValidator(_check_folder)] | None = None
    url: Annotated[str, AfterValidator(_clone_url)] | None = None
    commit: Annotated[str, AfterValidator(_commit)] | None = None
    workdir: Annotated[str, AfterValidator(check_workdir)] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "RepoTable":
        if [self.path, self.url, self.workdir].count(None) != 2:
            raise ValueError("needs exactly one of `path` and `url`, or else `workdir`")
        if self.url is not None and self.commit is None:
            raise ValueError("with `url` needs `commit`, the full hash of the buggy commit")
        if self.url is None and self.commit is not None:
            key = "path" if self.path is not None else "workdir"
            raise ValueError(f"with `{key}` takes no `commit`: it is derived from the files")
        return self


class EnvironmentTable(EnvironmentSettings):
    """`[environment]`: the settings, and what the agent gets."""

    dockerfile: scripts.InsidePath | None = None
    compose: scripts.InsidePath | None = None
    mcp_servers: tuple[McpServer, ...] = ()
    skills: Annotated[str, Field(pattern=r"^/[^\x00]*$")] | None = None
    """A folder in the sandbox with a folder for each skill, for the agent."""

    @model_validator(mode="after")
    def _one_image(self) -> "EnvironmentTable":
        if self.image is not None and self.dockerfile is not None:
            raise ValueError("takes `image` or `dockerfile`, not both")
        return self


class QuarantinedTest(Schema):
    """A test whose outcome changed between runs, so that it does not decide."""

    id: ListedId
    rate: Annotated[float, Field(strict=True, gt=0, lt=1)]
    """The share of its runs with another outcome than most of them."""


class TestsTable(Schema):
    """`[tests]`: the command of the tests, and the deciding tests."""

    __test__: ClassVar[bool] = False  # pytest takes classes by their names

    runner: Runner = Runner.PYTEST
    report: scripts.InsidePath | Literal[""] = ""
    """The files that the command writes, for the runners `junit` and `tap`: a pattern."""
    command: TestLine = RUNNER_COMMANDS[Runner.PYTEST].usual
    before: tuple[scripts.ShellLine, ...] = ()
    """Shell commands that every judged run starts with, for example to build an extension."""
    paths: tuple[scripts.InsidePath, ...] = ()
    timeout_s: Seconds = 300.0
    fail_to_pass: tuple[ListedTest, ...] = ()
    pass_to_pass: ListedIds = ()
    protected: tuple[scripts.InsidePath, ...] = ()
    quarantined: tuple[QuarantinedTest, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _usual_command(cls, values: object) -> object:
        """The values, with the usual command of a runner if they give none."""
        return with_usual_command(values, "command")

    @classmethod
    def of_command(cls, command: str, *, timeout_s: float = 300.0) -> "TestsTable":
        """The table of a command, with the runner that it starts.

        Raises:
            ValidationError: it starts no known runner.
        """
        try:
            runner = parse_test_command(command).runner
        except ValueError:
            runner = Runner.PYTEST
        return cls(runner=runner, command=command, timeout_s=timeout_s)

    @model_validator(mode="after")
    def _report_fits(self) -> "TestsTable":
        if self.runner is Runner.JUNIT and not self.report:
            raise ValueError('with runner = "junit" needs `report`, the files that it writes')
        if self.report and self.runner not in {Runner.JUNIT, Runner.TAP}:
            raise ValueError('takes `report` with runner = "junit" or "tap" alone')
        return self

    @model_validator(mode="after")
    def _quarantine_holds(self) -> "TestsTable":
        apart = {test.id for test in self.quarantined}
        pass_to_pass = () if self.pass_to_pass == "baseline" else self.pass_to_pass
        judged = sorted(apart.intersection((*self.fail_to_pass, *pass_to_pass)))
        if judged:
            raise ValueError(
                "takes a test in `quarantined` or in a deciding list, not in both; found "
                f"{judged[0]} in both"
            )
        both = sorted(set(self.fail_to_pass).intersection(pass_to_pass))
        if both:
            raise ValueError(
                "takes a test in `fail_to_pass` or in `pass_to_pass`, not in both; found "
                f"{both[0]} in both"
            )
        if apart and not self.fail_to_pass:
            raise ValueError("needs `fail_to_pass` with `quarantined`, or the whole run decides")
        return self


class IntegrityTable(Schema):
    """`[integrity]`: the level of the checks for forged results."""

    controls: ControlLevel = ControlLevel.FULL


class TaskFile(Schema):
    """The whole of `task.toml`."""

    schema_version: Literal[1]
    id: Annotated[TaskId, AfterValidator(_task_id)] | None = None
    title: Annotated[str, Field(min_length=1, max_length=200)]
    tags: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    reward_strategy: RewardStrategy = RewardStrategy.MEAN
    repo: RepoTable
    environment: EnvironmentTable = EnvironmentTable()
    setup: TaskSetup = TaskSetup()
    tests: TestsTable = TestsTable()
    verifier: scripts.Verifier | None = None
    solution: scripts.SolutionScript | None = None
    agent: AgentLimits = AgentLimits()
    integrity: IntegrityTable = IntegrityTable()
    steps: tuple[StepTable, ...] = ()

    @model_validator(mode="after")
    def _steps_fit(self) -> "TaskFile":
        if self.steps and self.verifier is None:
            raise ValueError("needs a [verifier] for [[steps]]: scripts judge them")
        if not self.steps and "reward_strategy" in self.model_fields_set:
            raise ValueError("takes `reward_strategy` only with [[steps]]")
        if self.verifier is not None:
            check_steps(self.steps, self.verifier)
        return self

    @model_validator(mode="after")
    def _one_judge(self) -> "TaskFile":
        if self.verifier is None and self.repo.workdir is not None:
            raise ValueError("needs a [verifier] for the image's own folder, [repo] workdir")
        if self.verifier is not None and self.tests != TestsTable():
            raise ValueError("takes [tests] or [verifier], not both: one of them judges")
        return self


def parse_task_file(text: str, *, name: str) -> TaskFile:
    """Parse the text of a `task.toml`; messages about its faults begin with `name`.

    Raises:
        InputError: it is not TOML, or keys are missing, unknown or wrong: all faults at once.
    """
    if text.startswith("\ufeff"):
        raise InputError(f"{name}: begins with a byte order mark; save it as UTF-8 without one")
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers and nesting beyond Python's limits
        raise InputError(f"{name}: not valid TOML: {error}") from None
    try:
        return TaskFile.model_validate(table)
    except ValidationError as error:
        raise InputError(
            *(f"{name}: {describe_validation_error(detail, TaskFile)}" for detail in error.errors())
        ) from None
