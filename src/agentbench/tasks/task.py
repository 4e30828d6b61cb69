"""The model of a task: problem, answer key, repository and environment."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import Field

from agentbench.core.files import FileContent
from agentbench.core.network import Network
from agentbench.core.schema import Schema
from agentbench.scoring.evidence import NodeId
from agentbench.scoring.steps import RewardStrategy
from agentbench.tasks import scripts
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.problem import Problem, Seconds, TaskId
from agentbench.tasks.steps import TaskStep, step_files, step_folder
from agentbench.tasks.users import AGENT_USER, ROOT_USER, UserName

_USUAL_WORKDIR = PurePosixPath("/workspace")
# Strict: TOML has types, so "300" instead of a number is a mistake.
Mebibytes = Annotated[int, Field(strict=True, ge=64, le=2**24)]


class AnswerKey(Schema):
    """The hidden tests, the reference solution, and the tests that must pass."""

    tests_patch: bytes = b""
    solution_patch: bytes = b""
    fail_to_pass: tuple[NodeId, ...] = ()
    pass_to_pass: tuple[NodeId, ...] | Literal["baseline"] = ()
    protected: tuple[str, ...] = ()
    quarantined: tuple[NodeId, ...] = ()
    verifier: scripts.Verifier | None = None  # judges instead of pytest
    solution: scripts.SolutionScript | None = None  # instead of the patch


class RepoSource(Schema):
    """The source of the code: plain files, a git URL (or bundle) and a commit, or an image."""

    files: Path | None = None
    url: str | None = None
    commit: str | None = None  # of the URL
    workdir: str | None = None  # a folder in the image


class EnvironmentSettings(Schema):
    """The settings of a task's sandboxes, as task.toml gives them and as containers get them."""

    image: scripts.ImageName | None = None
    services_on_localhost: Annotated[bool, Field(strict=True)] = False
    pip: Annotated[str, Field(pattern=r"^[0-9][0-9A-Za-z.]*$")] | None = None
    """The version of pip that set-up installs first; null: the image's own."""
    env: scripts.Variables = Field(default_factory=dict)
    env_from_host: scripts.HostVariables = Field(default_factory=dict)
    cpus: Annotated[float, Field(strict=True, gt=0, le=256)] = 1.0
    memory_mib: Mebibytes = 2048
    pids: Annotated[int, Field(strict=True, ge=16, le=2**22)] = 256
    disk_mib: Mebibytes = 4096
    files: Annotated[int, Field(strict=True, ge=1000, le=2**31)] = 300_000
    user: scripts.SandboxUser = AGENT_USER
    runtime: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] | None = None
    """A runtime of the container engine; null: its default one."""
    lasting: Annotated[bool, Field(strict=True)] = False
    """Whether processes of the agent survive between its commands, and the image's entrypoint runs;
    always true if a script judges in the agent's container."""
    network: Network = False
    """The network of the commands around the agent, and of the agent unless it has its own."""
    healthcheck: scripts.HealthCheck | None = None


class TaskEnvironment(EnvironmentSettings):
    """The image and the resource limits of the task's sandboxes."""

    dockerfile: Path | None = None
    compose: Path | None = None
    """The compose file of the sandbox's services; it may also give the sandbox's image."""

    @property
    def total_cpus(self) -> float:
        """The cores that a sandbox and its services may use: all services together get as many."""
        return self.cpus if self.compose is None else 2 * self.cpus

    @property
    def total_memory_mib(self) -> int:
        """The memory that a sandbox and its services may use."""
        return self.memory_mib if self.compose is None else 2 * self.memory_mib

    @property
    def is_built(self) -> bool:
        """Whether an attempt builds its images, or may have to."""
        return self.dockerfile is not None or self.compose is not None


class TaskSetup(Schema):
    """`[setup]`: shell commands that install the task's requirements."""

    shared: tuple[scripts.ShellLine, ...] = ()
    """They run first and without the repository; tasks with equal commands share the result."""
    commands: tuple[scripts.ShellLine, ...] = ()
    timeout_s: Seconds = 600.0
    network: Network = True

    @property
    def all_commands(self) -> tuple[str, ...]:
        """All commands in order."""
        return (*self.shared, *self.commands)


class Task(Schema):
    """One bug to fix, with everything that judging an attempt needs."""

    problem: Problem
    answer_key: AnswerKey
    folder: Path
    source: RepoSource
    environment: TaskEnvironment = TaskEnvironment()
    setup: TaskSetup = TaskSetup()
    controls: ControlLevel = ControlLevel.FULL
    digest: str  # sha256 of all files of the task
    steps: tuple[TaskStep, ...] = ()
    """The steps in order; empty: the problem has the only instruction."""
    reward_strategy: RewardStrategy = RewardStrategy.MEAN

    @property
    def id(self) -> TaskId:
        """The task's id."""
        return self.problem.id

    @property
    def scripted_solution(self) -> scripts.ScriptedSolution | None:
        """The script that solves the task, if its solution is not a patch."""
        script = self.answer_key.solution
        if script is None:
            return None
        name = scripts.SOLUTION_FOLDER
        own = {step.name: step_folder(self.folder, step.name) / name for step in self.steps}
        return scripts.ScriptedSolution(
            command=script.command,
            env=script.env,
            folder=self.folder / name,
            step_folders={step: folder for step, folder in own.items() if folder.is_dir()},
        )

    @property
    def workdir(self) -> PurePosixPath | None:
        """The workspace's path in a sandbox; None: the sandbox's default."""
        if self.source.workdir is not None:
            return PurePosixPath(self.source.workdir)
        return None if self.answer_key.verifier is None else _USUAL_WORKDIR

    @property
    def agent_sandbox_user(self) -> UserName:
        """The user of the agent's sandbox: root if the sandbox has more than one."""
        verifier = self.answer_key.verifier
        judges = [step.verifier for step in self.steps] or ([verifier] if verifier else [])
        users = {step.user for step in self.steps} or {self.environment.user}
        users |= {each.user for each in judges if each.is_shared and each.user is not None}
        return users.pop() if len(users) == 1 else ROOT_USER

    @property
    def script_folders(self) -> tuple[Path, ...]:
        """The folders of the verifier's files; files of a later one replace those before."""
        step = self.problem.step
        own = () if step is None else (step_folder(self.folder, step) / scripts.VERIFIER_FOLDER,)
        return (self.folder / scripts.VERIFIER_FOLDER, *own)

    def step_files(self) -> Mapping[PurePosixPath, FileContent]:
        """The files that the steps up to this one write to the workspace.

        Raises:
            InputError: one cannot be read.
        """
        names = [step.name for step in self.steps]
        begun = names[: names.index(self.problem.step) + 1] if self.problem.step else []
        return {path: f for name in begun for path, f in step_files(self.folder, name).items()}

    @property
    def pending_steps(self) -> tuple[TaskStep, ...]:
        """The steps of the whole task; none if this is the task in one of them."""
        return self.steps if self.problem.step is None else ()

    @property
    def agent_seconds(self) -> float:
        """The time limit of the agent; of all its steps together if this is the whole task."""
        limits = [step.timeout_s for step in self.pending_steps]
        return sum(limits) if limits else self.problem.limits.timeout_s

    @property
    def judged_seconds(self) -> float:
        """The time limit of a judged run; of all verifiers together if this is the whole task."""
        limits = [step.verifier.timeout_s for step in self.pending_steps]
        return sum(limits) if limits else self.problem.test_timeout_s

    def in_step(self, step: TaskStep) -> "Task":
        """The task as it is in one of its steps."""
        problem = self.problem.replace(
            instruction=step.instruction,
            network=step.network,
            step=step.name,
            test_timeout_s=step.verifier.timeout_s,
            limits=self.problem.limits.replace(timeout_s=step.timeout_s),
        )
        key = self.answer_key.replace(verifier=step.verifier)
        own = {"user": step.user, "healthcheck": step.healthcheck}
        environment = self.environment.replace(**own)
        return self.replace(problem=problem, answer_key=key, environment=environment)
