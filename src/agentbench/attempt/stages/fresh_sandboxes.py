"""Sandboxes in the state from before the agent, opened in advance or when needed.

Writing files into them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.attempt.context import StageContext
from agentbench.core.files import FileContent
from agentbench.errors import DoesNotFitError, SandboxError
from agentbench.pytest_results.command import reporter_mounts
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, Promise, ReadOnlyMount, Sandbox

_REMOVAL_TIMEOUT = timedelta(minutes=5)


def write_files(
    sandbox: Sandbox,
    files: Mapping[PurePosixPath, FileContent | None],
    *,
    emptied: Iterable[PurePosixPath] = (),
) -> None:
    """Write files into the workspace, after removing those that are `None` or folders now gone.

    Raises:
        SandboxError: the sandbox is lost or refuses the files.
    """
    written = {path: file for path, file in files.items() if file is not None}
    removed = [path for path, file in files.items() if file is None]
    removed += [folder for folder in emptied if not _holds(folder, written)]
    if removed:
        _remove(sandbox, removed)
    if written:
        sandbox.write_tree(sandbox.workspace, tar_of_files(written))


def _remove(sandbox: Sandbox, paths: Iterable[PurePosixPath]) -> None:
    names = b"\0".join(f"./{path.as_posix()}".encode("utf-8", "surrogateescape") for path in paths)
    result = sandbox.run(
        Command(argv=("xargs", "-0", "rm", "-rf", "--"), stdin=names, timeout=_REMOVAL_TIMEOUT)
    )
    if not result.ok:
        raise SandboxError(f"files could not be removed: {result.stderr.strip()[:200]}")


def _holds(folder: PurePosixPath, written: Mapping[PurePosixPath, FileContent]) -> bool:
    return any(folder in path.parents for path in written)


_OpenSandbox = tuple[ExitStack, Sandbox]


@contextmanager
def fresh_sandbox(
    context: StageContext, mounts: Sequence[ReadOnlyMount] | None = None
) -> Iterator[Sandbox]:
    """A fresh sandbox with the reporters, or other mounts; nobody waits for its removal.

    Raises:
        SandboxError: it could not be made.
    """
    keep, sandbox = _open_sandbox(context, reporter_mounts() if mounts is None else mounts)
    with keep:
        yield sandbox
        context.aside.remove(keep.pop_all().close)


def preopen_sandbox(context: StageContext) -> "PreopenedSandbox | None":
    """Begin to make the final test's sandbox, where what the agent runs cannot look into it."""
    if Promise.OWN_FILE_SYSTEM not in context.provider.promises:
        return None
    if context.task.answer_key.verifier is not None:
        return None  # its own image, or a network, may be needed
    return PreopenedSandbox(context, reporter_mounts())


class PreopenedSandbox:
    """A sandbox that is made while something else goes on."""

    def __init__(self, context: StageContext, mounts: Sequence[ReadOnlyMount]) -> None:
        self._aside = context.aside
        self._is_taken = False
        self._made: Future[_OpenSandbox] = self._aside.begin(lambda: _open_sandbox(context, mounts))

    @contextmanager
    def taken(self) -> Iterator[Sandbox]:
        """The sandbox; nobody waits for its removal.

        Raises:
            SandboxError: it could not be made.
            RunCancelled: the run was cancelled meanwhile.
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
    context: StageContext, ahead: PreopenedSandbox | None, fill: Callable[[Sandbox], None]
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


def _filled(
    ahead: PreopenedSandbox, fill: Callable[[Sandbox], None], keep: ExitStack
) -> Sandbox | None:
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


def _open_sandbox(context: StageContext, mounts: Sequence[ReadOnlyMount]) -> _OpenSandbox:
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
