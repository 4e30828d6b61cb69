"""A task's own pytest run on this machine, and nothing else: what no sandbox makes cheaper.

Run: python benchmarks/raw_tests.py ARCHIVE RUNS AT_A_TIME
"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_COMMAND = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")


def main() -> None:
    """Run the tests with the reference solution so many times."""
    archive = Path(sys.argv[1]).resolve()
    runs, jobs = int(sys.argv[2]), int(sys.argv[3])
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda _: _run(archive), range(runs)))


def _run(archive: Path) -> None:
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("PYTHONPYCACHEPREFIX", None)  # pytest's own byte-code was written when it was installed
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["tar", "xf", str(archive), "-C", scratch], check=True)
        done = subprocess.run(
            _COMMAND, cwd=Path(scratch) / "repo", env=env, capture_output=True, check=False
        )
    if done.returncode != 0:
        raise SystemExit(f"pytest exited {done.returncode}:\n{done.stdout.decode()}")


if __name__ == "__main__":
    main()
