import subprocess
import sys

from agentbench.core.extras import install_command


def test_without_the_extra_it_says_what_installs_it(tmp_path):
    block = (
        "import sys; sys.modules['starlette'] = None; from agentbench.__main__ import main; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", block, "view", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 2
    assert ended.stderr.strip() == (
        "agentbench: the web page needs starlette, found none: " + install_command("view")
    )
