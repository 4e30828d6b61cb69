"""Runs one program in one tree some times and says what its last step did.

Each time is a new process whose hashes, and so the order in its sets, are others.

Reads a `Replay` from stdin and writes a `Replayed` to stdout: agentbench.symbolic.comparison.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from agentbench_link import Link, LostError
from agentbench_outcome import words

_FIRST = 10  # of the seeds: others than those that the search knows


def replay(asked: dict) -> dict:
    """The outcomes of all times."""
    outcomes, values = [], []
    place = {"paths": asked["paths"], "module": None, "name": None}
    for time in range(asked.get("times", 2)):
        try:
            with Link(place, hashes=_FIRST + time) as link:
                said = link.run(asked["program"], asked.get("call_seconds", 2.0))
        except LostError as error:
            return {"outcomes": outcomes, "values": values, "why": str(error)}
        last = said["steps"][-1]
        outcomes.append(words(last))
        values.append(json.dumps([last.get("form"), last.get("type"), said["after"]]))
    return {"outcomes": outcomes, "values": values, "why": ""}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(replay(json.loads(sys.stdin.read()))) + "\n")
