"""A terminal whose output a test keeps."""

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread


@contextmanager
def pseudo_terminal(*, columns: int = 100, rows: int = 30) -> Iterator[tuple[int, list[bytes]]]:
    """The descriptor of a terminal, and what is shown there: all of it after the block."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    parts: list[bytes] = []

    def read() -> None:
        try:
            while more := os.read(main, 65_536):
                parts.append(more)
        except OSError:  # how Linux says that the other end was closed
            os.close(main)

    reader = Thread(target=read)
    reader.start()
    try:
        yield terminal, parts
    finally:
        os.close(terminal)
        reader.join()
