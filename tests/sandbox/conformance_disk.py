"""What a sandbox may hold on disk, over all its writable places together."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agentbench.sandbox import disk_usage
from agentbench.sandbox.interface import Command, ImageId, Sandbox, SandboxProvider
from agentbench.scoring.evidence import Ending
from tests.sandbox.conformance_base import LIMITS, PATIENCE, Conformance, python, sh

TIGHT = replace(LIMITS, disk_mib=200, files=20_000)
FILL = """
import itertools, os, sys, time
chunk = os.urandom(1 << 20)
for number in itertools.count():
    for folder in sys.argv[1:]:
        with open(f"{folder}/{number}.fill", "wb") as file:
            file.write(chunk)
    if number > 400:
        time.sleep(0.1)
"""
SCATTER = """
import itertools, os, time
for number in itertools.count():
    os.mkdir(f"{number}.d")
    for other in range(1000):
        open(f"{number}.d/{other}", "w").close()
    if number > 40:
        time.sleep(0.1)
"""
"""Both write without end. Past twice the limit they are slow, to spare the disk a slow watch."""
ROOMY = """
for name in ("sparse", "another"):
    with open(name, "wb") as file:
        file.truncate(190 << 20)
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
        assert not result.ok

    def test_the_number_of_files_is_limited(self, tight: Sandbox) -> None:
        result = python(tight, SCATTER)
        assert (result.ending, result.exceeded) == (Ending.OUT_OF_DISK, "20000 files")

    def test_a_sandbox_that_was_over_can_be_cleaned_up_and_used(self, tight: Sandbox) -> None:
        assert python(tight, FILL, str(tight.workspace)).ending is Ending.OUT_OF_DISK
        assert sh(tight, "ls | wc -l").ok
        assert sh(tight, "rm *.fill").ok
        assert sh(tight, "head -c 30M /dev/zero > fine && echo fine").stdout == "fine\n"

    def test_a_sparse_file_is_no_disk(
        self, tight: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for routine in ("_ROUTINE", "_BLIND_ROUTINE"):  # also a short command is measured
            monkeypatch.setattr(disk_usage, routine, 0.0)
        result = python(tight, ROOMY)
        assert (result.stdout, result.ending) == ("fine\n", Ending.EXITED)

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
