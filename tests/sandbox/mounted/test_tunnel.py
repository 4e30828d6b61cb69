"""The carrier as a program: it ends with its stream, and speaks only once it is spoken to."""

import subprocess
import sys
from pathlib import Path

from agentbench.sandbox.mounted import tunnel
from agentbench.sandbox.mounted.tunnel import READY, START_MARK

PATIENCE = 60


def started(path: Path) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    argv = [sys.executable, "-I", "-S", tunnel.__file__, str(path)]
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe)


def test_tunnel_announces_itself_and_ends_with_its_stdin(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    path.write_text("what an earlier one left")
    with started(path) as carrier:
        assert carrier.stdin is not None
        assert carrier.stdout is not None
        carrier.stdin.write(START_MARK)
        carrier.stdin.flush()
        assert carrier.stdout.read(9)[4] == READY
        assert path.is_socket()
        reported, complained = carrier.communicate(timeout=PATIENCE)
    assert (reported, complained, carrier.returncode) == (b"", b"", 0)


def test_tunnel_ends_without_the_start_mark(tmp_path: Path) -> None:
    with started(tmp_path / "s.sock") as carrier:
        reported, _ = carrier.communicate(b"no\n" * 3, timeout=PATIENCE)
    assert (reported, carrier.returncode) == (b"", 1)
