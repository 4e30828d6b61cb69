"""Sandboxes in the state before the agent, opened in advance or when needed, and their files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.attempt.context import PreparedContext
from agentbench.core.files import FileContent
from agentbench.errors import DoesNotFitError, SandboxError
from agentbench.pytest_results.execution import reporter_mounts
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, Promise, ReadOnlyMount, Sandbox

_REMOVAL_TIMEOUT = timedelta(minutes=5)


def write_files(
    sandbox: Sandbox,
    files: Mapping[PurePosixPath, FileContent | None],
    *,
    emptied: Iterable[PurePosixPath] = (),
) -> None:
    """Write files to the workspace after the removal of those that are `None`, and of folders.

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
    context: PreparedContext, mounts: Sequence[ReadOnlyMount] | None = None
) -> Iterator[Sandbox]:
    """A fresh sandbox with the reporters, or other mounts; it is removed in the background.

    Raises:
        SandboxError: it could not be created.
    """
    keep, sandbox = _open_sandbox(context, reporter_mounts() if mounts is None else mounts)
    with keep:
        yield sandbox
        context.background.remove(keep.pop_all().close)


def preopen_sandbox(context: PreparedContext) -> "PreopenedSandbox | None":
    """Start to create a sandbox for the tests, if the agent's commands cannot read its files."""
    if Promise.OWN_FILE_SYSTEM not in context.provider.promises:
        return None
    if context.task.answer_key.verifier is not None:
        return None  # it may need its own image or a network
    return PreopenedSandbox(context, reporter_mounts())


class PreopenedSandbox:
    """A sandbox that is created in the background; either `taken` or closed."""

    def __init__(self, context: PreparedContext, mounts: Sequence[ReadOnlyMount]) -> None:
        self._background = context.background
        self._is_taken = False
        self._opened: Future[_OpenSandbox] = self._background.submit(
            lambda: _open_sandbox(context, mounts)
        )

    @contextmanager
    def taken(self) -> Iterator[Sandbox]:
        """The sandbox; it is removed in the background.

        Raises:
            SandboxError: it could not be created.
            RunCancelled: the run was cancelled meanwhile.
        """
        self._is_taken = True
        keep, sandbox = self._opened.result()
        with keep:
            yield sandbox
            self._background.remove(keep.pop_all().close)

    def close(self) -> None:
        """Remove it, unless it was taken."""
        if not self._is_taken:
            self._background.remove(self._drop)

    def _drop(self) -> None:
        if self._opened.exception() is None:
            keep, _ = self._opened.result()
            keep.close()


@contextmanager
def filled_sandbox(
    context: PreparedContext, preopened: PreopenedSandbox | None, fill: Callable[[Sandbox], None]
) -> Iterator[Sandbox]:
    """A sandbox with files in it: the one opened in advance, or a fresh one if that was lost.

    Args:
        context: The inputs.
        preopened: The one that was opened in advance, if there is one.
        fill: Writes the files.

    Raises:
        DoesNotFitError: the files are more than a sandbox may hold.
        SandboxError: the sandbox could not be created, or refuses the files.
    """
    with ExitStack() as stack:
        sandbox = None if preopened is None else _filled(preopened, fill, stack)
        if sandbox is None:
            sandbox = stack.enter_context(fresh_sandbox(context))
            fill(sandbox)
        yield sandbox


def _filled(
    preopened: PreopenedSandbox, fill: Callable[[Sandbox], None], stack: ExitStack
) -> Sandbox | None:
    try:
        with ExitStack() as tried:
            sandbox = tried.enter_context(preopened.taken())
            fill(sandbox)
            stack.push(tried.pop_all())
            return sandbox
    except DoesNotFitError:
        raise
    except SandboxError:
        return None


def _open_sandbox(context: PreparedContext, mounts: Sequence[ReadOnlyMount]) -> _OpenSandbox:
    with ExitStack() as stack:
        sandbox = stack.enter_context(
            context.provider.open(
                context.prepared.snapshot,
                limits=context.limits,
                network=False,
                mounts=mounts,
                cancel=context.cancel,
            )
        )
        return stack.pop_all(), sandbox
