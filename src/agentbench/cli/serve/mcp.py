"""`agentbench mcp`: serves a project, or the project of a task, to agents.

Submitted code runs in a sandbox of its own.
"""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path

import typer

from agentbench import __version__
from agentbench.attempt.context import limits_of
from agentbench.attempt.preparing import prepare_task
from agentbench.attempt.resources import RunResources
from agentbench.attempt.settings import RunSettings
from agentbench.attempt.task_image import services_of
from agentbench.cli.options import TaskSelection
from agentbench.cli.run_execution import print_warnings
from agentbench.cli.serve import server_options
from agentbench.core.extensions import Slot, offers
from agentbench.core.host import usable_cache_dir
from agentbench.errors import InputError
from agentbench.mcp import transports
from agentbench.mcp.local_project import local_project
from agentbench.mcp.server import make_server
from agentbench.sandbox.interface import Promise, SandboxUse
from agentbench.sandbox.registry import select_back_end
from agentbench.test_runs.python_runners import reporter_mounts
from agentbench.test_tools.project import PytestProject, sandbox_project

MCP_TOKEN_VARIABLE = "AGENTBENCH_MCP_TOKEN"
_TOKEN_BYTES = 24


@contextmanager
def open_task_project(folder: Path, sandbox: str) -> Iterator[PytestProject]:
    """The project of the one task in a folder, in a sandbox, without its hidden tests.

    Raises:
        InputError: there is no such task, or there are several.
        UnavailableError: the sandbox is not available, or the task cannot be prepared.
        UsageError: there is no sandbox of that name, or no folder for the cache.
    """
    cache_dir = usable_cache_dir()
    tasks = TaskSelection(tasks=[folder]).load(cache_dir)
    if len(tasks) != 1:
        raise InputError(f"--task: expected one task, found {len(tasks)} in {folder}")
    (task,) = tasks
    back_end = select_back_end(sandbox, cache_dir=cache_dir)
    print_warnings(back_end.warnings)
    provider = back_end.provider
    resources = RunResources.of(provider, RunSettings(), cache_dir=cache_dir)
    snapshot = prepare_task(task, resources).prepared.snapshot
    with provider.open(
        snapshot,
        limits=limits_of(task),
        network=False,
        mounts=reporter_mounts(),
        use=SandboxUse(services=services_of(task)),
    ) as opened:
        yield sandbox_project(
            opened,
            task.problem.tests,
            env=task.environment.env,
            isolated=Promise.NO_NETWORK in provider.promises,
        )


def serve_mcp(settings: server_options.McpServerOptions) -> None:
    """Serve a project until told to stop.

    The project is a folder of this machine, tested in place, or a task's project as an agent gets
    it, without its hidden tests. The sandbox is also for submitted code.
    """
    opened: AbstractContextManager[PytestProject]
    if settings.task is not None:
        opened = open_task_project(settings.task, settings.sandbox.value)
    else:
        opened = nullcontext(
            local_project(settings.root, python=settings.python, environ=os.environ)
        )
    with opened as project:
        sandbox = settings.sandbox.value
        # Their texts may name folders of this machine, which clients do not see.
        more = [row.load()(sandbox, project.mask) for row in offers(Slot.MCP_TOOLS).values()]
        server = make_server(project, settings.error_mode, version=__version__, more=more)
        work = partial(transports.serve_stdio, server)
        if settings.transport is server_options.McpTransport.STDIO and sys.stdin.isatty():
            # It looked as if it hung.
            note = "waiting for an MCP client on stdin; docs/mcp.md says how to configure one"
            typer.echo(note, err=True)
        if settings.transport is server_options.McpTransport.HTTP:
            # Also on loopback: other users of this machine could run the project's tests.
            token = os.environ.get(MCP_TOKEN_VARIABLE)
            if not token:
                token = secrets.token_urlsafe(_TOKEN_BYTES)
                typer.echo(f"token: {token}", err=True)
            address = transports.HttpAddress(host=settings.host, port=settings.port, token=token)
            work = partial(
                transports.serve_http,
                server,
                address,
                lambda url: typer.echo(f"serving on {url}", err=True),
            )
        server_options.run_until_interrupted(work)
