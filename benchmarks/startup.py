"""Start-up: how long `agentbench --help` and `import agentbench.scoring` take.

Medians of whole processes, taken in turns with the interpreter alone, so that the ratio holds
on a machine whose speed drifts. Run: python benchmarks/startup.py
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

_ROUNDS = 25
_COMMANDS = {
    "python -c pass": (sys.executable, "-c", "pass"),
    "agentbench --help": (sys.executable, "-m", "agentbench", "--help"),
    "import agentbench.scoring": (sys.executable, "-c", "import agentbench.scoring"),
    "import pydantic": (sys.executable, "-c", "import pydantic"),
}


def main() -> None:
    """Time every command in turns and print medians, ratios and the targets."""
    seconds: dict[str, list[float]] = {name: [] for name in _COMMANDS}
    for _ in range(_ROUNDS):
        for name, argv in _COMMANDS.items():
            seconds[name].append(_timed(argv))
    medians = {name: 1000 * statistics.median(taken) for name, taken in seconds.items()}
    bare = medians["python -c pass"]
    for name, median in medians.items():
        print(f"{name:<28} {median:7.1f} ms  {median / bare:5.2f} x of the bare interpreter")
    net = medians["import agentbench.scoring"] - bare
    print(f"import of agentbench.scoring alone: {net:.1f} ms (target: below 60)")
    print(f"agentbench --help: {medians['agentbench --help']:.1f} ms (target: below 150)")


def _timed(argv: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
