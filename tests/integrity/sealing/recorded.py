"""Recordings as the mounted recorder makes them, in this process or by another Python."""

import json
import subprocess
import textwrap
from pathlib import Path

import agentbench
from agentbench.integrity.sealing.canonical import parse_canonical, read_recordings
from agentbench.test_runs.mounted.agentbench_canonical import canonical_form
from agentbench.test_runs.mounted.agentbench_canonical_bounds import bounded

MOUNTED = Path(agentbench.__file__).parent / "test_runs" / "mounted"
_HEAD = """
import sys
sys.path.insert(0, {mounted!r})
from pathlib import Path
from agentbench_launch import RecordStream
import agentbench_recorder as recorder
recorder.open_recordings(RecordStream(Path({file!r})))
recorder.begin("test_m.py::test_a")
"""


def recorded(value):
    form, _ = bounded(canonical_form(value))
    return parse_canonical(json.loads(json.dumps(form)))


def record(program, python, tmp_path):
    file = tmp_path / "recordings.jsonl"
    head = _HEAD.format(mounted=str(MOUNTED), file=str(file))
    command = [python, "-I", "-c", head + textwrap.dedent(program)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return read_recordings(file.read_bytes())
