"""What happens if the program that reads our output ends first, as in `agentbench report | head`.

The shell's convention is an end by SIGPIPE, which it shows as exit code 141. The signal itself
would leave sandboxes behind. So the first write that fails raises SystemExit with this code: what
is to be cleaned up is cleaned up, and nothing is printed.
"""

import io
import sys
import threading
from typing import TYPE_CHECKING, TextIO

from agentbench.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def end_quietly_with_the_reader() -> None:
    """Have writes to stdout and stderr end the program once nobody reads them any more."""
    sys.stdout = _guarded(sys.stdout)
    sys.stderr = _guarded(sys.stderr)


class _Pipe(io.FileIO):
    """A descriptor of ours; what comes from others, such as sockets, raises as before."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            if threading.current_thread() is threading.main_thread():
                raise SystemExit(ExitCode.CLOSED_PIPE) from None
            return memoryview(data).nbytes  # the main thread's next write ends the program


def _guarded(stream: TextIO) -> TextIO:
    """The same stream over a guarded descriptor; one that is no file stays as it is."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return stream
    stream.flush()
    pipe = _Pipe(descriptor, "w", closefd=False)
    is_buffered = isinstance(stream.buffer, io.BufferedWriter)  # not with PYTHONUNBUFFERED
    return io.TextIOWrapper(
        io.BufferedWriter(pipe) if is_buffered else pipe,
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
