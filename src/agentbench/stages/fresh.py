"""Sandboxes in the state from before the agent: made ahead of need, removed behind one's back."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager

from agentbench.errors import DoesNotFitError, SandboxError
from agentbench.pytest_results.run import reporter_mounts
from agentbench.sandbox.interface import Promise, ReadOnlyMount, Sandbox
from agentbench.stages.interface import StageContext

_Opened = tuple[ExitStack, Sandbox]


@contextmanager
def fresh_sandbox(
    context: StageContext, mounts: Sequence[ReadOnlyMount] | None = None
) -> Iterator[Sandbox]:
    """A fresh sandbox with the reporters, or other mounts; nobody waits for its removal.

    Raises:
        SandboxError: it could not be made.
    """
    keep, sandbox = _opened(context, reporter_mounts() if mounts is None else mounts)
    with keep:
        yield sandbox
        context.aside.remove(keep.pop_all().close)


def make_ahead(context: StageContext) -> "MadeAhead | None":
    """Begin to make the final test's sandbox, where what the agent runs cannot look into it."""
    if Promise.OWN_FILE_SYSTEM not in context.provider.promises:
        return None
    if context.task.answer_key.verifier is not None:
        return None  # its own image, or a network, may be needed
    return MadeAhead(context, reporter_mounts())


class MadeAhead:
    """A sandbox that is made while something else goes on."""

    def __init__(self, context: StageContext, mounts: Sequence[ReadOnlyMount]) -> None:
        self._aside = context.aside
        self._is_taken = False
        self._made: Future[_Opened] = self._aside.begin(lambda: _opened(context, mounts))

    @contextmanager
    def taken(self) -> Iterator[Sandbox]:
        """The sandbox; nobody waits for its removal.

        Raises:
            SandboxError: it could not be made.
            KeyboardInterrupt: the run was cancelled meanwhile.
        """
        self._is_taken = True
        keep, sandbox = self._made.result()
        with keep:
            yield sandbox
            self._aside.remove(keep.pop_all().close)

    def close(self) -> None:
        """Remove it, if nobody took it."""
        if not self._is_taken:
            self._aside.remove(self._drop)

    def _drop(self) -> None:
        if self._made.exception() is None:
            keep, _ = self._made.result()
            keep.close()


@contextmanager
def filled_sandbox(
    context: StageContext, ahead: MadeAhead | None, fill: Callable[[Sandbox], None]
) -> Iterator[Sandbox]:
    """A sandbox with files in it: the one made ahead, or a fresh one where that was lost meanwhile.

    Args:
        context: The attempt.
        ahead: What was begun earlier, if anything was.
        fill: Writes the files.

    Raises:
        DoesNotFitError: the files are more than a sandbox may hold.
        SandboxError: the sandbox could not be made, or refuses the files.
    """
    with ExitStack() as keep:
        sandbox = None if ahead is None else _filled(ahead, fill, keep)
        if sandbox is None:
            sandbox = keep.enter_context(fresh_sandbox(context))
            fill(sandbox)
        yield sandbox


def _filled(ahead: MadeAhead, fill: Callable[[Sandbox], None], keep: ExitStack) -> Sandbox | None:
    try:
        with ExitStack() as tried:
            sandbox = tried.enter_context(ahead.taken())
            fill(sandbox)
            keep.push(tried.pop_all())
            return sandbox
    except DoesNotFitError:
        raise
    except SandboxError:
        return None


def _opened(context: StageContext, mounts: Sequence[ReadOnlyMount]) -> _Opened:
    assert context.prepared is not None  # made by setup
    with ExitStack() as keep:
        sandbox = keep.enter_context(
            context.provider.open(
                context.prepared.snapshot,
                limits=context.limits,
                network=False,
                mounts=mounts,
                cancel=context.cancel,
            )
        )
        return keep.pop_all(), sandbox
