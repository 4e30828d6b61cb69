"""Asks the program that explores paths, in a process of its own that is killed in time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_PROGRAM = str(Path(__file__).parent / "agentbench_paths.py")
_LOADING = 2.0  # seconds that crosshair takes to be imported
_LEAST = 1.0


def explore(pair: dict[str, Any], described: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Programs on which the paths of both part, how many paths there were, and whether all."""
    if described["kind"] != "function":
        return {"why": "a method's object is not made of symbols"}
    if seconds < _LEAST:
        return {"why": "no time was left"}
    asked = {"pair": pair, "described": described, "seconds": max(seconds - _LOADING, _LEAST)}
    process = subprocess.Popen(
        [sys.executable, "-s", "-W", "ignore", _PROGRAM, *sys.argv[1:2]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(json.dumps(asked).encode(), timeout=seconds + 2 * _LOADING)
        found = json.loads(said)
    except subprocess.TimeoutExpired:
        return {"why": "the search did not end in its time"}
    except (OSError, ValueError) as error:
        return {"why": f"the search gave no answer ({type(error).__name__})"}
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    return found if isinstance(found, dict) else {"why": "what it said is no answer"}
