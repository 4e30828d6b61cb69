"""`agentbench serve`: the judge over HTTP, until it is stopped."""

import os
import warnings
from contextlib import closing
from functools import partial

import anyio
import typer

from agentbench.cli.options import parse_jobs
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.run_execution import say_line
from agentbench.cli.serve.listening import access_policy, host_in_url, listen, required_token
from agentbench.core.host import usable_cache_dir
from agentbench.extensions.service.guard import RequestLimits
from agentbench.extensions.service.job_store import SECONDS_PER_DAY
from agentbench.extensions.service.jobs import JobLimits
from agentbench.extensions.service.messages import TOKEN_VARIABLE
from agentbench.extensions.service.options import JudgeServerOptions
from agentbench.extensions.service.server import ServiceSettings, serve
from agentbench.extensions.service.sessions import SessionLimits
from agentbench.extensions.service.task_catalogue import TaskCatalogue
from agentbench.judge.judge import Judge
from agentbench.runs.options import RunOptions, refuse_file

_QUEUE = "queue.sqlite"


def serve_judge(settings: JudgeServerOptions) -> None:
    """Judge changes until told to stop.

    Raises:
        InputError: a task is wrong, or the queue is not one.
        StorageError: the queue or the folder of runs cannot be written.
        UnavailableError: the sandbox is not available.
        UsageError: an option is wrong, the token cannot be used, it cannot listen there, or another
            service has the queue.
    """
    # FastAPI passes the name of a parameter that is a model to pydantic, which has no use for it.
    unused_alias = "The 'alias' attribute with value 'asked'"
    warnings.filterwarnings("ignore", message=unused_alias, category=UserWarning)
    cache_dir = usable_cache_dir()
    refuse_file(settings.runs_dir)
    catalogue = TaskCatalogue(settings.load(cache_dir))
    judge = Judge(
        sandbox=settings.sandbox.value,
        jobs=parse_jobs(settings.jobs),
        reward=settings.reward,
        use_verdicts=not settings.no_verdict_cache,
        options=RunOptions(
            executor=settings.executor,
            retries=settings.retries,
            runtime=settings.runtime,
            registry=settings.registry,
            timeout_scale=settings.timeout_scale,
            allow_env=tuple(settings.allow_env or ()),
            allow_unsandboxed=settings.allow_unsandboxed,
            runs_dir=settings.runs_dir,
            cache_dir=cache_dir,
            say=say_line,
        ),
    )
    token = required_token(settings.host, TOKEN_VARIABLE)
    service = ServiceSettings(
        queue=settings.queue or settings.runs_dir / _QUEUE,
        runs_dir=settings.runs_dir,
        reward=settings.reward,
        drain_seconds=settings.drain,
        requests=RequestLimits(max_body_bytes=settings.max_body << 20),
        jobs=JobLimits(
            max_waiting=settings.max_jobs, keep_seconds=settings.keep_jobs * SECONDS_PER_DAY
        ),
        sessions=SessionLimits(
            max_sessions=settings.max_sessions, idle_seconds=settings.session_idle
        ),
    )
    with closing(listen(settings.host, settings.port)) as listener:
        policy = access_policy(settings.host, listener, token)

        def announce() -> None:
            address = f"http://{host_in_url(settings.host)}:{policy.port}"
            what = f"serving {len(catalogue.by_id)} tasks on {address} (Ctrl-C ends it)"
            typer.echo(what, err=True)
            # The logs of a service last, and a token of the environment with them.
            if token is not None and token != os.environ.get(TOKEN_VARIABLE):
                typer.echo(f"token: {token}", err=True)

        run = partial(serve, judge, catalogue, service, listener, policy, announce)
        if not anyio.run(run):
            raise typer.Exit(ExitCode.INTERRUPTED)
