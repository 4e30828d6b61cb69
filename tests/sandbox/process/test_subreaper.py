import json
import os
import resource
import subprocess
import sys
from contextlib import ExitStack

import pytest

from agentbench.sandbox.process import subreaper
from agentbench.sandbox.supervise import memory_file


def kept(
    *argv: str, cwd: str = "/", limits: list[tuple[int, int]] | None = None
) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "GIVEN": "x"}
    order = {"argv": argv, "cwd": cwd, "env": env, "user": None, "limits": limits or []}
    with ExitStack() as keep:
        descriptor = memory_file(json.dumps(order).encode(), keep)
        return subprocess.run(
            (sys.executable, "-I", "-S", subreaper.__file__, str(descriptor)),
            pass_fds=(descriptor,),
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -15 $$", 143)]
)
def test_subreaper_exits_as_the_command(script: str, code: int) -> None:
    assert kept("sh", "-c", script).returncode == code


def test_missing_program_exits_as_in_a_shell() -> None:
    assert kept("no-such-program").returncode == 127
    assert kept("/etc/passwd").returncode == 126


def test_a_process_that_detached_itself_dies_with_the_command() -> None:
    detach = "(setsid sh -c 'echo $$; exec sleep 1000' &) | { read -r pid; echo $pid; }"
    pid = int(kept("sh", "-c", detach).stdout)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_limits_hold_for_the_command() -> None:
    done = kept("sh", "-c", "ulimit -c; ulimit -n", limits=[(resource.RLIMIT_NOFILE, 33)])
    assert done.stdout.split()[1] == "33"


def test_command_has_only_the_given_environment() -> None:
    names = {line.partition("=")[0] for line in kept("env").stdout.splitlines()}
    assert names == {"PATH", "GIVEN"}
