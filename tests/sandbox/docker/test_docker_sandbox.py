"""Commands that do their worst, each in a container of its own."""

import io
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Command, ImageId, Sandbox
from agentbench.scoring.evidence import Ending
from tests.sandbox.conformance_base import LIMITS, PATIENCE, python, sh
from tests.sandbox.conformance_endings import run_into_limit
from tests.sandbox.docker_fixtures import containers_in, engine, image, provider

__all__ = ["engine", "image", "provider"]

pytestmark = pytest.mark.docker

FORK_FOR_EVER = """
import os
os.write(1, b"begun")
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
RISE_AGAIN = """
import os, time
while True:
    if os.fork():
        os._exit(0)
    os.setsid()
    with open("beat", "a") as beat:
        beat.write(".")
"""
EAT_IN_MANY = """
import os
for _ in range(100):
    if os.fork() == 0:
        held = bytearray(64 << 20)
        for at in range(0, len(held), 4096):
            held[at] = 1
        os.pause() if hasattr(os, "pause") else __import__("signal").pause()
os.wait()
raise SystemExit(3)
"""
FLOOD = "import os; block = b'x' * (1 << 20)\nfor _ in range(200): os.write(1, block)"


@pytest.fixture
def fresh(provider: DockerProvider, image: ImageId) -> Iterator[Sandbox]:
    with provider.open(image, limits=LIMITS, network=False) as opened:
        yield opened


def test_a_fork_bomb_that_does_not_stop_is_ended(fresh: Sandbox) -> None:
    result = run_into_limit(fresh, "python", "-c", FORK_FOR_EVER, begun="begun")
    assert result.ending is Ending.TIMED_OUT
    assert sh(fresh, "echo fine").stdout == "fine\n"


def test_a_daemon_that_rises_again_under_new_numbers_is_ended(fresh: Sandbox) -> None:
    until_it_beats = "while not os.path.exists('beat'): pass"
    script = f"import os\nif os.fork() == 0:\n{_indented(RISE_AGAIN)}\n{until_it_beats}"
    assert python(fresh, script).ok
    first = sh(fresh, "cat beat | wc -c").stdout
    assert sh(fresh, "cat beat | wc -c").stdout == first


@pytest.mark.soak  # the conformance suite counts memory over all processes
def test_many_that_eat_together_lack_memory(fresh: Sandbox) -> None:
    assert python(fresh, EAT_IN_MANY).ending is Ending.OUT_OF_MEMORY
    assert sh(fresh, "echo fine").stdout == "fine\n"


def test_a_flood_of_output_is_drained_and_counted(fresh: Sandbox) -> None:
    command = Command(argv=("python", "-c", FLOOD), timeout=PATIENCE, output_cap=1 << 16)
    result = fresh.run(command)
    assert result.ok
    assert result.output_bytes == 200 << 20
    assert len(result.stdout) < (1 << 16) + 100


def test_a_flood_does_not_put_off_the_deadline(fresh: Sandbox) -> None:
    flood = "while :; do echo yyyyyyyyyyyyyyyyyyyy; done"
    result = run_into_limit(fresh, "sh", "-c", flood, begun="yyy")
    assert result.ending is Ending.TIMED_OUT


def test_a_command_that_kills_all_it_can_is_killed(fresh: Sandbox) -> None:
    result = sh(fresh, "echo before; kill -9 -1")
    assert (result.ending, result.signal) == (Ending.KILLED, 9)
    assert result.stdout == "before\n"
    assert sh(fresh, "echo fine").stdout == "fine\n"


def test_a_command_that_forges_the_mark_hurts_only_itself(fresh: Sandbox) -> None:
    forge = r"""
mark=$(tr '\0' '\n' < /proc/$PPID/cmdline | grep -E '^[0-9a-f]{16}$')
printf '\0%s:000\n' "$mark"; printf '\0%s:000\n' "$mark" >&2
sleep 1000
"""
    assert sh(fresh, forge).ending is Ending.EXITED
    assert sh(fresh, "echo fine").stdout == "fine\n"


def test_a_command_that_stops_its_shell_is_ended_at_the_deadline(fresh: Sandbox) -> None:
    stop = "import os, signal; os.kill(os.getppid(), signal.SIGSTOP); print('stopped')"
    result = run_into_limit(fresh, "python", "-c", stop, begun="stopped")
    assert result.ending is Ending.TIMED_OUT
    assert sh(fresh, "echo fine").stdout == "fine\n"


def test_a_full_disk_of_temporary_files_is_an_ordinary_failure(fresh: Sandbox) -> None:
    filled = sh(fresh, "head -c 2000000000 /dev/zero > /tmp/big")
    assert not filled.ok
    assert sh(fresh, "rm /tmp/big; echo fine").stdout == "fine\n"


def test_a_file_beyond_the_disk_limit_is_not_written(
    provider: DockerProvider, image: ImageId
) -> None:
    limits = replace(LIMITS, disk_mib=8)
    with provider.open(image, limits=limits, network=False) as sandbox:
        # A hole takes no room, so the watch over all that is held has no say in this.
        assert not sh(sandbox, "dd if=/dev/zero of=big bs=1M seek=6 count=3").ok
        assert int(sh(sandbox, "wc -c < big").stdout) == 8 << 20


def test_an_argument_that_no_kernel_takes_exits_126(fresh: Sandbox) -> None:
    result = fresh.run(Command(argv=("echo", "x" * 200_000), timeout=PATIENCE))
    assert (result.ending, result.exit_code) == (Ending.EXITED, 126)
    assert "too long" in result.stderr


def test_names_that_the_shell_uses_itself_arrive_unchanged(fresh: Sandbox) -> None:
    given = {"ENV": "/etc/profile", "size": "1", "folder": "/", "go": "now"}
    script = "import os, sys; print([os.environ.get(name) for name in sys.argv[1:]])"
    argv = ("python", "-c", script, *given)
    result = fresh.run(Command(argv=argv, env=given, timeout=PATIENCE))
    assert result.stdout == f"{list(given.values())}\n"


def test_the_use_of_memory_and_processor_is_told(fresh: Sandbox) -> None:
    eat = "x = bytearray(100 << 20); x[::4096] = b'x' * len(x[::4096])"
    result = python(fresh, f"{eat}; import time; print(time.process_time())")
    assert result.peak_memory_bytes is not None
    assert result.peak_memory_bytes > 100 << 20
    assert result.cpu_seconds is not None
    spent = float(result.stdout)
    assert spent <= result.cpu_seconds < 100 * spent  # its shell and the engine spend some too
    assert sh(fresh, "true").peak_memory_bytes is None, "lower than before: not known"


def test_a_sink_that_fails_ends_the_command(fresh: Sandbox) -> None:
    def fail(_stream: object, _data: bytes) -> None:
        raise ZeroDivisionError

    command = Command(argv=("sh", "-c", "echo x; sleep 1000"), timeout=PATIENCE, sink=fail)
    with pytest.raises(ZeroDivisionError):
        fresh.run(command)
    assert sh(fresh, "cat /proc/[0-9]*/comm | grep -c sleep").stdout == "0\n"


def test_commands_of_several_threads_wait_for_each_other(fresh: Sandbox) -> None:
    script = "mkdir only && echo alone; sleep 0.1; rmdir only"
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: sh(fresh, script), range(4)))
    assert [result.stdout for result in results] == ["alone\n"] * 4


def test_links_that_change_while_a_tree_is_read_stay_inside(
    provider: DockerProvider, image: ImageId
) -> None:
    race = r"""
mkdir real && echo inside > real/passwd
while :; do rm -rf seen; cp -r real seen; rm -rf seen; ln -s /etc seen; done
"""
    with (
        ThreadPoolExecutor(1) as pool,
        provider.open(image, limits=LIMITS, network=False) as sandbox,
    ):
        running = pool.submit(sh, sandbox, race)
        for _ in range(10):
            assert "root:" not in "".join(_contents(sandbox, sandbox.workspace))
        sandbox.kill()
        with pytest.raises(SandboxError):
            running.result()


def test_a_sandbox_that_is_removed_under_load_is_an_error_of_the_sandbox(
    provider: DockerProvider, engine: Engine, image: ImageId
) -> None:
    command = Command(
        argv=("sh", "-c", "echo up; while :; do echo x > f; done"),
        timeout=PATIENCE,
        sink=lambda _stream, _data: _remove_all(engine),
    )
    with (
        pytest.raises(SandboxError),
        provider.open(image, limits=LIMITS, network=False) as sandbox,
    ):
        sandbox.run(command)


def _remove_all(engine: Engine) -> None:
    for found in containers_in(engine):
        with engine.api("remove a container from outside") as api:
            api.remove_container(found, v=True, force=True)


def _contents(sandbox: Sandbox, path: PurePosixPath) -> Iterator[str]:
    with sandbox.read_tree(path) as stream:
        data = b"".join(stream)
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
        for member in tar:
            if member.isreg() and (file := tar.extractfile(member)) is not None:
                yield file.read().decode("utf-8", "replace")


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
