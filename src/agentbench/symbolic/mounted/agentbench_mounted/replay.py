"""Runs one program in one tree several times and reports the outcomes of its last step.

Each run is a new process with another hash seed, and so with another order in sets. Reads a
`ReplayRequest` from stdin and writes a `ReplayResult` to stdout: see
agentbench.symbolic.comparison.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from .outcomes import words
from .worker_process import LostError, WorkerProcess

if TYPE_CHECKING:
    from .messages import Json, Location

_FIRST_SEED = 10  # none of the seeds that the search uses


def replay(request: Json) -> Json:
    """The outcomes of all runs."""
    outcomes: list[str] = []
    values: list[str] = []
    location: Location = {"paths": request["paths"], "module": None, "name": None}
    for number in range(request.get("times", 2)):
        try:
            with WorkerProcess(location, hash_seed=_FIRST_SEED + number) as worker:
                result = worker.run(request["program"], request.get("call_seconds", 2.0))
        except LostError as error:
            return {"outcomes": outcomes, "values": values, "why": str(error)}
        last = result["steps"][-1]
        outcomes.append(words(last))
        values.append(json.dumps([last.get("form"), last.get("type"), result["after"]]))
    return {"outcomes": outcomes, "values": values, "why": ""}


def main() -> None:
    """Answer the request on stdin."""
    sys.stdout.write(json.dumps(replay(json.loads(sys.stdin.read()))) + "\n")
