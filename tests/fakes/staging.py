"""One attempt's stages, one at a time, on a real back end."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from uuid import uuid4

from agentbench.agents.interface import Agent
from agentbench.agents.reference import NoopAgent
from agentbench.attempt.context import StageContext
from agentbench.attempt.pipeline import PIPELINE
from agentbench.attempt.preparation_cache import PreparationCache, PreparedTask
from agentbench.core.background_tasks import BackgroundTasks
from agentbench.errors import SandboxError, UnavailableError
from agentbench.runs.environment import default_cache_dir
from agentbench.sandbox.interface import SandboxProvider, Stream
from agentbench.sandbox.registry import select_back_end
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.taxonomy import StageName
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task
from tests.e2e.small_task import SmallTask

RUN = {stage.name: stage.run for stage in PIPELINE}


def local_provider() -> SandboxProvider:
    """Bubblewrap, or where it does not work plain processes; its cache is that of the tests."""
    try:
        return select_back_end("bubblewrap", cache_dir=default_cache_dir()).provider
    except (UnavailableError, SandboxError):
        return select_back_end("process", cache_dir=default_cache_dir()).provider


def mirrors() -> Mirrors:
    """Mirrors in the cache of the tests."""
    return Mirrors(default_cache_dir() / "mirrors")


def small_task(folder: Path, **changes) -> Task:
    """The small task with changes, written and loaded."""
    folder.mkdir(parents=True, exist_ok=True)
    return load_task(SmallTask(**changes).write(folder), mirrors=mirrors())


class Desk:
    """Where an attempt's files end up, and what its stages printed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.printed = b""

    def save(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    def sink(self, stream: Stream, chunk: bytes) -> None:
        del stream
        self.printed += chunk

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


@contextmanager
def staged(
    task: Task,
    provider: SandboxProvider,
    desk: Desk,
    *,
    agent: Agent | None = None,
    timeout_scale: float = 1.0,
    prepared: PreparedTask | None = None,
) -> Iterator[StageContext]:
    """An attempt before its first stage; what its set-up keeps is forgotten at the end."""
    cache = PreparationCache(default_cache_dir() / "prepared", provider)
    key = f"test-{uuid4().hex}"

    def keep_snapshot(context: StageContext):
        assert context.sandbox is not None
        return cache.keep(key, context.sandbox)

    with ExitStack() as resources:
        resources.callback(cache.forget, key)
        aside = BackgroundTasks()
        resources.callback(aside.finish)
        context = StageContext(
            task=task,
            aside=aside,
            agent=agent or NoopAgent(),
            provider=provider,
            mirrors=mirrors(),
            cancel=Event(),
            timeout_scale=timeout_scale,
            sink=desk.sink,
            save=desk.save,
            keep_snapshot=keep_snapshot,
            resources=resources,
            image=provider.resolve_image(None),
            prepared=prepared,
        )
        resources.callback(context.drop_what_is_ahead)
        yield context


def go(context: StageContext, *names: str) -> Evidence:
    """Run some stages in turn; the last one's evidence."""
    evidence = Evidence()
    for name in names:
        evidence = RUN[StageName(name)](context)
    return evidence


def prepare(context: StageContext) -> Evidence:
    """Run the first three stages."""
    return go(context, "git_clone", "git_checkout", "setup")
