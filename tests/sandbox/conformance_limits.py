"""What a sandbox may use: memory, processes, processor time."""

from dataclasses import replace
from datetime import timedelta

from agentbench.sandbox.interface import Command, ImageId, Promise, Sandbox, SandboxProvider
from agentbench.scoring.evidence import Ending
from tests.sandbox.conformance_base import LIMITS, PATIENCE, Conformance, needs, python, sh

EAT = """
import sys
held = []
for _ in range(int(sys.argv[1])):
    held.append(b"x" * (1 << 20))
print("ate it all")
"""
EAT_IN_A_CHILD = """
import os, subprocess, sys
child = subprocess.run([sys.executable, "-c", os.environ["EAT"], "2000"])
sys.exit(3)
"""
TWO_EATERS = """
import subprocess, sys
eater = "x = b'x' * (300 << 20); print('up', flush=True); input(); print('alive')"
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
both = [subprocess.Popen([sys.executable, "-c", eater], **pipes) for _ in range(2)]
said = [child.stdout.readline() for child in both]
print([child.communicate(b"go\\n")[0] for child in both].count(b"alive\\n"))
"""
BOMB = """
import os, signal, time
count = 0
try:
    while count < 1000:
        if os.fork() == 0:
            time.sleep(1000)
        count += 1
except BlockingIOError:
    pass
print(count, flush=True)
"""
BUSY = """
import time
began, spent = time.monotonic(), time.process_time()
while (passed := time.monotonic() - began) < 1.0:
    pass
print((time.process_time() - spent) / passed)
"""


class LimitConformance(Conformance):
    """That one sandbox cannot starve the machine, and that it is told what ended it."""

    def test_a_command_within_its_memory_is_left_alone(self, sandbox: Sandbox) -> None:
        assert python(sandbox, EAT, "200").ok

    def test_a_command_beyond_its_memory_does_not_get_through(self, sandbox: Sandbox) -> None:
        result = python(sandbox, EAT, "2000")
        assert not result.ok
        assert "ate it all" not in result.stdout

    def test_lack_of_memory_is_told_from_a_deadline_and_a_kill(
        self, sandbox: Sandbox, provider: SandboxProvider
    ) -> None:
        needs(provider, Promise.TELLS_OOM)
        assert python(sandbox, EAT, "2000").ending is Ending.OUT_OF_MEMORY
        assert sh(sandbox, "kill -9 $$").ending is Ending.KILLED
        command = Command(argv=("sleep", "1000"), timeout=timedelta(seconds=1))
        assert sandbox.run(command).ending is Ending.TIMED_OUT
        assert sh(sandbox, "exit 137").ending is not Ending.OUT_OF_MEMORY

    def test_lack_of_memory_in_a_child_is_told_too(
        self, sandbox: Sandbox, provider: SandboxProvider
    ) -> None:
        needs(provider, Promise.TELLS_OOM)
        argv = ("python", "-c", EAT_IN_A_CHILD)
        result = sandbox.run(Command(argv=argv, timeout=PATIENCE, env={"EAT": EAT}))
        assert result.ending is Ending.OUT_OF_MEMORY

    def test_memory_is_counted_over_all_processes(
        self, sandbox: Sandbox, provider: SandboxProvider
    ) -> None:
        needs(provider, Promise.MEMORY_LIMIT)
        assert python(sandbox, TWO_EATERS).stdout != "2\n"

    def test_a_fork_bomb_ends_and_the_next_command_works(
        self, fresh: Sandbox, provider: SandboxProvider
    ) -> None:
        needs(provider, Promise.PIDS_LIMIT)
        result = python(fresh, BOMB)
        assert 1 <= int(result.stdout) <= LIMITS.pids
        assert sh(fresh, "echo fine").stdout == "fine\n"

    def test_processor_time_is_limited(self, provider: SandboxProvider, image: ImageId) -> None:
        needs(provider, Promise.CPU_LIMIT)
        with provider.open(image, limits=replace(LIMITS, cpus=0.5), network=False) as sandbox:
            share = float(python(sandbox, BUSY).stdout)
        assert share < 0.8  # of one processor; a busier machine only makes it less
