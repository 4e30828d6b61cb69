"""The main process of a container.

A shell script that keeps the container alive, signals all other processes at our word and counts
them.

It is a shell that runs as root with no capability but CAP_KILL and uses nothing but builtins, so it
still answers when a fork bomb has taken every process that the container may have. Commands run as
another user without any capability: they cannot signal it. It lives as long as its input stays
open, so the container of a harness that died ends by itself.
"""

import time
from dataclasses import dataclass

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.attached_stream import AttachedStream

MAIN_PROCESS = r"""
number() { # sets $found to what a file says, after a word if one is given
  found=-
  while read -r first second; do
    if [ -z "$2" ]; then found=$first; return; fi
    if [ "$first" = "$2" ]; then found=$second; return; fi
  done < "$1"
} 2> /dev/null
group=/sys/fs/cgroup
echo ready
while read -r turn word rest; do
  answer=no
  case $word in
    see) if [ -e "$rest" ]; then answer=yes; fi ;;
    *) if kill -s "$word" -- -1 2> /dev/null; then answer=yes; fi ;;
  esac
  if [ -e $group/memory.events ]; then
    number $group/memory.events oom_kill; oom=$found
    number $group/memory.peak; peak=$found
    number $group/cpu.stat usage_usec; cpu=${found}000
  else
    number $group/memory/memory.oom_control oom_kill; oom=$found
    number $group/memory/memory.max_usage_in_bytes; peak=$found
    number $group/cpuacct/cpuacct.usage; cpu=$found
  fi
  echo "$turn $answer $oom $peak $cpu"
done
"""
_START_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCensus:
    """What the keeper answers: whether others live beside it, and the container's counters."""

    yes: bool  # there was somebody to signal, or the path exists
    oom_kills: int = 0
    peak_memory_bytes: int | None = None
    cpu_nanoseconds: int | None = None


class MainProcess:
    """Speaks to the keeper of one container."""

    def __init__(self, wire: AttachedStream) -> None:
        self._wire = wire
        self._turn = 0
        self._heard = b""

    def await_ready(self) -> ProcessCensus:
        """Wait until the keeper is up.

        Raises:
            SandboxError: it did not come up, because the image has no shell for example.
        """
        deadline = time.monotonic() + _START_SECONDS
        while "ready" not in self._lines() and not self._wire.ended:
            if time.monotonic() > deadline:
                break
            self._hear(0.1)
        census = self.ask("0", patience=5.0)
        if census is None:
            raise SandboxError("the container did not come up; its image needs a shell, `sh`")
        return census

    def ask(self, word: str, *, patience: float) -> ProcessCensus | None:
        """Send everybody else a signal by name or number; None when no answer comes."""
        self._turn += 1
        deadline = time.monotonic() + patience
        self._wire.send(f"{self._turn} {word}\n".encode(), patience)
        while not self._wire.ended and (left := deadline - time.monotonic()) > 0:
            self._hear(min(left, 0.5))
            for line in self._lines():
                turn, _, facts = line.partition(" ")
                if turn == str(self._turn):
                    answer, oom, peak, cpu = (*facts.split(), "-", "-", "-")[:4]
                    return ProcessCensus(
                        yes=answer == "yes",
                        oom_kills=int(oom) if oom.isdigit() else 0,
                        peak_memory_bytes=int(peak) if peak.isdigit() else None,
                        cpu_nanoseconds=int(cpu) if cpu.isdigit() else None,
                    )
        return None

    def sees(self, path: str) -> bool:
        """Whether a path exists in the container."""
        census = self.ask(f"see {path}", patience=5.0)
        return census is not None and census.yes

    def end_others(self, *, patience: float) -> ProcessCensus | None:
        """Kill every other process until none is left; None when that does not come about."""
        deadline = time.monotonic() + patience
        pause = 0.001
        while (left := deadline - time.monotonic()) > 0:
            census = self.ask("KILL", patience=left)
            if census is None or not census.yes:
                return census
            time.sleep(pause)  # dying takes a moment, and nobody tells us when it is over
            pause = min(2 * pause, 0.05)
        return None

    def close(self) -> None:
        """Let go of the keeper; its container ends."""
        self._wire.close()

    def _hear(self, patience: float) -> None:
        self._heard += b"".join(frame.data for frame in self._wire.receive(patience))

    def _lines(self) -> list[str]:
        *lines, self._heard = self._heard.split(b"\n")
        return [line.decode("ascii", "replace") for line in lines]
