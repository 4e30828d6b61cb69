"""What a sandbox may hold on disk, over all its writable places together."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agentbench.sandbox.interface import Command, ImageId, Sandbox, SandboxProvider
from agentbench.scoring.evidence import Ending
from tests.sandbox.conformance_base import LIMITS, PATIENCE, Conformance, python, sh

TIGHT = replace(LIMITS, disk_mib=200, files=20_000)
FILL = """
import os, sys, time
chunk = os.urandom(1 << 20)
for number in range(2000):
    for folder in sys.argv[1:]:
        with open(f"{folder}/{number}.fill", "wb") as file:
            file.write(chunk)
print("wrote it all")
time.sleep(60)
"""
SCATTER = """
import os, time
for number in range(200):
    os.mkdir(f"{number}.d")
    for other in range(1000):
        open(f"{number}.d/{other}", "w").close()
print("made them all")
time.sleep(60)
"""
ROOMY = """
import time
with open("sparse", "wb") as file:
    file.truncate(190 << 20)
with open("another", "wb") as file:
    file.truncate(190 << 20)
time.sleep(6)
print("fine")
"""
DESCRIPTORS = """
import os, resource
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
count = 0
try:
    while True:
        os.dup(0)
        count += 1
except OSError as fault:
    print(count, fault.errno)
"""


class DiskConformance(Conformance):
    """That one sandbox cannot fill the disk, and that it is told what ended it."""

    @pytest.fixture
    def tight(self, provider: SandboxProvider, image: ImageId) -> Sandbox:
        with provider.open(image, limits=TIGHT, network=False) as opened:
            yield opened

    def test_what_all_folders_hold_together_is_limited(self, tight: Sandbox) -> None:
        folders = (str(tight.workspace), str(tight.results), "/home/agentbench")
        if not sh(tight, "test -w /home/agentbench").ok:  # no file system view of its own
            folders = folders[:2]
        result = python(tight, FILL, *folders)
        assert (result.ending, result.exceeded) == (Ending.OUT_OF_DISK, "200 MiB")
        assert "wrote it all" not in result.stdout
        assert not result.ok

    def test_the_number_of_files_is_limited(self, tight: Sandbox) -> None:
        result = python(tight, SCATTER)
        assert (result.ending, result.exceeded) == (Ending.OUT_OF_DISK, "20000 files")
        assert "made them all" not in result.stdout

    def test_a_sandbox_that_was_over_can_be_cleaned_up_and_used(self, tight: Sandbox) -> None:
        assert python(tight, FILL, str(tight.workspace)).ending is Ending.OUT_OF_DISK
        assert sh(tight, "ls | wc -l").ok
        assert sh(tight, "rm *.fill").ok
        assert sh(tight, "head -c 30M /dev/zero > fine && echo fine").stdout == "fine\n"

    def test_a_sparse_file_is_no_disk(self, tight: Sandbox) -> None:
        assert python(tight, ROOMY).stdout == "fine\n"

    def test_the_deadline_outranks_a_full_disk(self, tight: Sandbox) -> None:
        argv = ("sh", "-c", "head -c 190M /dev/zero > a; head -c 190M /dev/zero > b; exit 3")
        result = tight.run(Command(argv=argv, timeout=timedelta(microseconds=1)))
        assert result.ending is Ending.TIMED_OUT
        assert result.exceeded == ""

    def test_open_files_are_limited_for_each_process(self, sandbox: Sandbox) -> None:
        result = sandbox.run(Command(argv=("python", "-c", DESCRIPTORS), timeout=PATIENCE))
        soft, hard, opened, errno = map(int, result.stdout.split())
        assert soft == hard <= LIMITS.open_files
        assert 0 < opened < soft
        assert errno == 24
