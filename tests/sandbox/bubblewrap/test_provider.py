from dataclasses import replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import cast

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider, BwrapRunner
from agentbench.sandbox.folder_sandbox import FolderSandbox
from agentbench.sandbox.interface import Command, Limits, Sandbox
from agentbench.scoring.evidence import Ending


def command(*argv: str) -> Command:
    return Command(argv=argv, timeout=timedelta(seconds=600))


@pytest.fixture
def runner(walled: Sandbox) -> BwrapRunner:
    return cast("BwrapRunner", cast("FolderSandbox", walled).runner)


def never() -> bool:
    return False


def test_a_failed_set_up_is_no_result(runner: BwrapRunner) -> None:
    broken = replace(runner, arguments=(*runner.arguments, "--ro-bind", "/no/such", "/x"))
    with pytest.raises(SandboxError, match="/no/such"):
        broken.run(command("true"), never)


def test_a_command_that_imitates_a_failed_set_up_is_a_result(runner: BwrapRunner) -> None:
    script = 'echo "bwrap: Can\'t chdir to /x: No such file" >&2; exit 1'
    result = runner.run(command("sh", "-c", script), never)
    assert (result.ending, result.exit_code) == (Ending.EXITED, 1)


def test_a_program_with_an_equals_sign_is_started(walled: Sandbox) -> None:
    walled.run(command("sh", "-c", "printf '#!/bin/sh\\necho $1' > a=b && chmod +x a=b"))
    assert walled.run(command("./a=b", "fine")).stdout == "fine\n"


def test_a_search_for_new_files_finds_no_device(walled: Sandbox) -> None:
    argv = ("find", "/dev", "-type", "f", "-mmin", "-240")
    assert walled.run(command(*argv)).stdout == ""


def test_memory_and_time_are_measured(bubblewrap: BubblewrapProvider, walled: Sandbox) -> None:
    result = walled.run(command("python", "-c", "x = b'x' * (50 << 20); print(sum(range(10**6)))"))
    assert (result.cpu_seconds or 0) > 0
    if bubblewrap.hierarchy is not None:
        assert (result.peak_memory_bytes or 0) > 50 << 20


def test_no_descriptor_is_left_open_after_a_command(walled: Sandbox) -> None:
    walled.run(command("true"))
    before = len(list(Path("/proc/self/fd").iterdir()))
    walled.run(command("true"))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_folder_inside_is_where_it_starts(runner: BwrapRunner) -> None:
    given = Command(argv=("pwd",), cwd=PurePosixPath("/usr"), timeout=timedelta(seconds=600))
    assert runner.run(given, never).stdout == "/usr\n"


def test_no_file_grows_past_the_disk_limit(bubblewrap, bubblewrap_image) -> None:
    # A hole takes no room: the watch over all that is held, which counts room, has no say in this.
    script = "dd if=/dev/zero of=big bs=1M seek=60 count=10 2>/dev/null; echo $?; stat -c %s big"
    limits = Limits(disk_mib=64)
    with bubblewrap.open(bubblewrap_image, limits=limits, network=False) as sandbox:
        result = sandbox.run(Command(argv=("sh", "-c", script), timeout=timedelta(minutes=10)))
    code, size = result.stdout.split()
    assert code != "0"
    assert int(size) == 64 << 20
