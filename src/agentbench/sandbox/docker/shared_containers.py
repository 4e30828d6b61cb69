"""The containers that judged runs of several attempts share, one run at a time.

With several attempts at a time, an engine spends more time on containers than on tests. So a judged
run takes an idle container of its task, gets a sandbox in it, and gives the container back.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from threading import Condition, Event

from agentbench.core.background_tasks import BackgroundTasks
from agentbench.core.host import available_cpus
from agentbench.errors import RunCancelled
from agentbench.sandbox.docker.nesting import NestingSandbox
from agentbench.sandbox.interface import ImageId, Limits, ReadOnlyMount, Sandbox, SnapshotId

_POLL = 0.1  # seconds between two checks of the cancel event
_OpenedContainer = tuple[ExitStack, Sandbox]
OpenContainer = Callable[[], AbstractContextManager[Sandbox]]


@dataclass(frozen=True, slots=True)
class ContainerKey:
    """The properties that two judged runs must have in common to share a container."""

    snapshot: ImageId | SnapshotId
    limits: Limits
    mounts: tuple[ReadOnlyMount, ...] = ()


class SharedContainers:
    """Owns the containers of one run until its end. Safe to use from several threads."""

    def __init__(self, background: BackgroundTasks, *, most: int | None = None) -> None:
        """Start without containers.

        Args:
            background: Opens and removes the containers; removes the last ones when it finishes.
            most: How many are used at a time for one key, and how many idle ones are kept for all;
                None: one for each processor, at least two.
        """
        self._background = background
        self._changed = Condition()
        self._idle: dict[ContainerKey, list[Future[_OpenedContainer]]] = defaultdict(list)
        self._taken: Counter[ContainerKey] = Counter()
        self._most = most or max(2, available_cpus())
        self._is_closed = False  # from then on, no container is kept
        background.at_end(self._close)

    @contextmanager
    def sandbox(self, key: ContainerKey, opened: OpenContainer, cancel: Event) -> Iterator[Sandbox]:
        """A fresh sandbox in an idle container, or in a new one.

        A caller that has one must not wait for a second one: all could wait for each other.

        Args:
            key: The key of the containers that may be used.
            opened: Opens a container, with `SandboxUse.nests`.
            cancel: Ends the sandbox's commands.

        Raises:
            SandboxError: the container could not be created or is lost.
            RunCancelled: `cancel` was set.
        """
        taken = self._take(key, opened, cancel)
        try:
            keep, container = taken.result()
            with ExitStack() as stack:
                stack.callback(self._background.remove, keep.close)
                if not isinstance(container, NestingSandbox):
                    yield container  # used once
                    return
                with container.nested(cancel) as sandbox:
                    yield sandbox
                stack.pop_all()  # nothing failed
                with self._changed:
                    self._idle[key].append(taken)
        finally:
            with self._changed:
                self._taken[key] -= 1
                surplus = self._surplus()
                self._changed.notify_all()
            for each in surplus:
                self._remove(each)

    def _take(
        self, key: ContainerKey, opened: OpenContainer, cancel: Event
    ) -> Future[_OpenedContainer]:
        with self._changed:
            idle = self._idle[key]
            while not idle and self._taken[key] >= self._most:
                self._changed.wait(_POLL)
                if cancel.is_set():
                    raise RunCancelled
            self._taken[key] += 1
            if idle:
                return idle.pop(next((at for at, each in enumerate(idle) if each.done()), 0))

        def entered() -> _OpenedContainer:
            with ExitStack() as stack:
                container = stack.enter_context(opened())
                return stack.pop_all(), container

        return self._background.submit(entered)

    def _surplus(self) -> list[Future[_OpenedContainer]]:
        """Take out the containers that were idle longest, beyond the number that may be kept."""
        number = sum(map(len, self._idle.values())) - (0 if self._is_closed else self._most)
        taken: list[Future[_OpenedContainer]] = []
        for waiting in self._idle.values():  # in the order of the tasks' first attempts
            while len(taken) < number and waiting:
                taken.append(waiting.pop(0))
        return taken

    def _remove(self, container: Future[_OpenedContainer]) -> None:
        def close() -> None:
            if container.exception() is None:
                container.result()[0].close()

        self._background.remove(close)

    def _close(self) -> None:
        with self._changed:
            self._is_closed = True
            left = self._surplus()
        for each in left:
            self._remove(each)
