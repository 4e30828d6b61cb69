import resource
import subprocess
import sys

_SHOWS = """
import resource
from agentbench.cli.process_setup import raise_open_files_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}))
raise_open_files_limit()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_the_soft_limit_becomes_the_hard_one():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lower = min(hard, 512) if hard > 0 else 512
    code = _SHOWS.format(hard=lower)
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == [str(lower), str(lower)]
