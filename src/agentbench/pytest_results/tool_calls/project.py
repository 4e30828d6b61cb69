"""A project whose tests are called for: where they run, and with which Python."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentbench.pytest_results.tool_calls.masking import Mask
from agentbench.pytest_results.tool_calls.targets import Resolve, resolver_in
from agentbench.sandbox.interface import Sandbox
from agentbench.tasks.pytest_command import PytestCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A way to run pytest, and where it was found; `missing` when nothing is there after all."""

    name: str
    command: PytestCommand
    missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project that can be tested."""

    root: PurePosixPath  # as the tests see it
    open: Callable[[], AbstractContextManager[Sandbox]]  # for one call
    interpreters: Callable[[], Sequence[Interpreter]]  # to be tried in this order
    resolve: Resolve
    mask: Mask
    runs_at_once: int
    env: Mapping[str, str]
    isolated: bool  # the network and this machine's files are out of reach


def project_in(
    sandbox: Sandbox, command: PytestCommand, *, env: Mapping[str, str], isolated: bool
) -> Project:
    """A task's project in a sandbox that is open already and stays so.

    Args:
        sandbox: Opened with `reporter_mounts`.
        command: How the task runs pytest.
        env: What the task sets in the environment of its tests.
        isolated: Whether the sandbox keeps the network and this machine away.
    """
    return Project(
        root=sandbox.workspace,
        open=lambda: nullcontext(sandbox),
        interpreters=lambda: [Interpreter(name="the sandbox", command=command)],
        resolve=resolver_in(sandbox),
        mask=Mask(sandbox.workspace, known=[str(sandbox.results)]),
        runs_at_once=1,  # it has one workspace, and one command at a time in it
        env=env,
        isolated=isolated,
    )
