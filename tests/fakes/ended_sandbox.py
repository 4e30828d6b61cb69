"""A sandbox in which every command ends as a kernel, an engine or a deadline would end it."""

from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import CommandResult, Ending


class EndedSandbox:
    """Takes files and commands; each command ends in the one way."""

    results = PurePosixPath("/results")

    def __init__(self, ending: Ending, *, stdout: str = "") -> None:
        self._ending = ending
        self._stdout = stdout
        self.written: list[tuple[PurePosixPath, bytes]] = []
        self.commands: list[Command] = []

    def write_tree(self, path: PurePosixPath, tar: bytes) -> None:
        self.written.append((path, tar))

    def run(self, command: Command) -> CommandResult:
        self.commands.append(command)
        return CommandResult(
            argv=command.argv,
            ending=self._ending,
            duration=timedelta(seconds=1),
            stdout=self._stdout,
            exceeded="64 MiB" if self._ending is Ending.OUT_OF_DISK else "",
        )
