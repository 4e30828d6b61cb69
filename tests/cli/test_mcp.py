import subprocess
import sys

from agentbench.distribution import install_command
from tests.mcp.connection import ENVIRON


def mcp(*options):
    command = [sys.executable, "-m", "agentbench", "mcp", *map(str, options)]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=ENVIRON, timeout=120
    )


def test_a_client_that_sends_nothing_ends_it_without_a_word(tmp_path):
    ended = mcp("--root", tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_folder_that_is_not_there_is_wrong_usage(tmp_path):
    ended = mcp("--root", tmp_path / "nowhere")
    assert ended.returncode == 2
    assert ended.stderr.startswith("agentbench: --root: expected a folder")


def test_an_interpreter_does_not_go_with_a_task(tmp_path):
    ended = mcp("--task", tmp_path, "--python", sys.executable)
    assert ended.returncode == 2
    assert "--python goes with --root" in ended.stderr


def test_without_the_extra_it_says_what_installs_it(tmp_path):
    block = "import sys; sys.modules['mcp'] = None; from agentbench.__main__ import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", block, "mcp", "--root", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 2
    assert install_command("mcp") in ended.stderr
