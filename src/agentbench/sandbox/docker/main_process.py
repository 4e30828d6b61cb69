"""The main process of a container: a shell script that signals all other processes on request.

It runs as root with CAP_KILL as its only capability. It uses only builtins, so it answers even if a
fork bomb has taken all processes of the container. Commands run as another user without
capabilities, so they cannot signal it. It ends with its input, so the container of a dead harness
ends by itself.
"""

import re
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
number /sys/class/net/lo/flags
echo "ready $found"
while read -r request word rest; do
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
  echo "$request $answer $oom $peak $cpu"
done
"""
_START_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCensus:
    """The answer of the main process, with the container's counters."""

    yes: bool  # whether there are other processes, or the path exists
    oom_kills: int = 0
    peak_memory_bytes: int | None = None
    cpu_nanoseconds: int | None = None


class MainProcess:
    """The connection to the main process of one container."""

    def __init__(self, stream: AttachedStream) -> None:
        self._stream = stream
        self._last_request = 0
        self._received = b""
        self.has_loopback = False
        """Whether its loopback interface is up, once it is ready."""

    def await_ready(self) -> ProcessCensus:
        """Wait until it is ready.

        Raises:
            SandboxError: it did not start, for example since the image has no shell.
        """
        deadline, is_ready = time.monotonic() + _START_SECONDS, False
        while not is_ready and not self._stream.ended and time.monotonic() < deadline:
            self._receive(0.1)
            for line in self._lines():
                word, _, flags = line.partition(" ")
                if word == "ready":
                    self.has_loopback = bool(re.fullmatch("0x[0-9a-f]*[13579bdf]", flags))
                    is_ready = True
        census = self.ask("0", patience=5.0)
        if census is None:
            raise SandboxError("the container did not start; its image needs a shell, `sh`")
        return census

    def ask(self, word: str, *, patience: float) -> ProcessCensus | None:
        """Send a signal to all other processes, by name or number; None if no answer comes."""
        self._last_request += 1
        deadline = time.monotonic() + patience
        self._stream.send(f"{self._last_request} {word}\n".encode(), patience)
        while not self._stream.ended and (remaining := deadline - time.monotonic()) > 0:
            self._receive(min(remaining, 0.5))
            for line in self._lines():
                request, _, facts = line.partition(" ")
                if request == str(self._last_request):
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
        """Kill all other processes until there is none; None if it takes too long."""
        deadline = time.monotonic() + patience
        pause = 0.001
        while (remaining := deadline - time.monotonic()) > 0:
            census = self.ask("KILL", patience=remaining)
            if census is None or not census.yes:
                return census
            time.sleep(pause)  # dying takes a moment, without an event at its end
            pause = min(2 * pause, 0.05)
        return None

    @property
    def has_ended(self) -> bool:
        """Whether it is dead, and its container with it."""
        self._received += b"".join(frame.data for frame in self._stream.receive_now())
        return self._stream.ended

    def close(self) -> None:
        """Close its input, so that it ends with its container."""
        self._stream.close()

    def _receive(self, patience: float) -> None:
        self._received += b"".join(frame.data for frame in self._stream.receive(patience))

    def _lines(self) -> list[str]:
        *lines, self._received = self._received.split(b"\n")
        return [line.decode("ascii", "replace") for line in lines]
