"""The gate of a command that starts before its input is available."""

import os
import select
from typing import Self


class Gate:
    """Holds back a command's input and its clock until it is open; used for one command.

    One thread runs the command; another one opens the gate or abandons the command.
    """

    def __init__(self) -> None:
        self.is_open = self.is_abandoned = False
        self._reader, self._writer = os.pipe()

    def __enter__(self) -> Self:
        """Return the gate itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its descriptors; the command has ended."""
        os.close(self._reader)
        os.close(self._writer)

    def open(self) -> None:
        """Let the command continue, unless it was abandoned."""
        self.is_open = not self.is_abandoned
        os.write(self._writer, b"\0")  # a copy of the descriptor may survive a close in a fork

    def abandon(self) -> None:
        """End the command if it still waits: `Sandbox.run` raises RunCancelled."""
        self.is_abandoned = not self.is_open
        os.write(self._writer, b"\0")

    def fileno(self) -> int:
        """A descriptor that is readable once the gate is open or the command is abandoned."""
        return self._reader

    def wait(self, seconds: float) -> bool:
        """Wait some seconds until it is open or abandoned; returns whether this has happened."""
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        return bool(poll.poll(1000 * seconds))
