import resource
import subprocess
import sys

from agentbench.sandbox.supervise import within_hard_limit

ASK = """
import resource
from agentbench.sandbox.supervise import within_hard_limit
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 50), 50))
print(within_hard_limit(resource.RLIMIT_NOFILE, 10), within_hard_limit(resource.RLIMIT_NOFILE, 99))
"""


def test_a_limit_is_what_is_wanted_or_our_own_where_that_is_lower() -> None:
    asked = subprocess.run((sys.executable, "-c", ASK), capture_output=True, text=True, check=True)
    assert asked.stdout == "10 50\n"


def test_what_has_no_limit_takes_any() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    wanted = 1 << 40
    assert within_hard_limit(resource.RLIMIT_FSIZE, wanted) == (
        wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    )
