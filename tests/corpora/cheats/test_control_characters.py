"""Control characters of an agent reach neither a terminal, nor a record, nor a log."""

import re
from pathlib import Path

import pytest

from agentbench import AttemptRecord
from tests.corpora.cheats.cheat import adds, writes
from tests.e2e.back_ends import one_back_end
from tests.e2e.bench import Bench
from tests.e2e.program import run_program
from tests.e2e.small_task import FIX, SmallTask

HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
CODES = (*range(9), *range(11, 32), *range(127, 160), 0x61C, 0x200E, 0x202E, 0x2066, 0x2069)
TEXT = f'"".join(map(chr, {CODES!r})) + "\\x1b[2J\\x1b]0;owned\\x07\\x9b31m\\u202egnp.exe"'
SAYS = writes(
    "say.py",
    f"""
import os, sys
TEXT = {TEXT}
for stream in (sys.stdout.buffer, sys.stderr.buffer):
    stream.write(TEXT.encode() + b"\\n" + bytes(range(256)) + b"\\n")
for number, char in enumerate(TEXT.replace("\\0", "").replace("/", "")):
    open(f"{{number}}-{{char}}-", "w").close()
os.mkdir(TEXT[1:60])
open(TEXT[1:60] + "/conftest.py", "w").close()
""",
)
BREAKS = adds(
    f"""
import sys, warnings
TEXT = {TEXT}
print(TEXT); sys.__stdout__.write(TEXT)
warnings.warn(TEXT)
def cheapest(prices):
    assert TEXT == "", TEXT
"""
)
HIDDEN = f"""
import warnings

import pytest

import basket

TEXT = {TEXT}


@pytest.mark.parametrize("text", [TEXT, "\\x1b[31m", "\\u202e", "\\x9b"])
def test_with_odd_ids(text, record_property):
    record_property("text", text)
    assert basket.total([1]) == 1, text


@pytest.mark.parametrize("text", [1, 2], ids=["\\u202eone", "\\x1btwo"])
def test_with_given_ids(text):
    pytest.fail(TEXT)


def test_every_price_counts():
    raise ValueError(TEXT)
"""
LISTED = ("tests/test_hidden.py::test_every_price_counts",)


@pytest.fixture
def record(bench: Bench, tmp_path: Path) -> AttemptRecord:
    """Of an agent that leaves control characters in every place that it can write to."""
    task = SmallTask(
        hidden=HIDDEN, fail_to_pass=LISTED, tests='command = "python -m pytest -s"'
    ).write(tmp_path / "small")
    record = bench.command(task, f"set -e; {FIX}; {SAYS} {BREAKS} python say.py")
    assert record.agent_run is not None
    assert record.agent_run.ending == "submitted"
    assert len(record.findings) > 50  # the names
    return record


@one_back_end
def test_no_control_character_reaches_a_terminal_a_record_or_a_log(
    record: AttemptRecord, bench: Bench, environ: dict[str, str], tmp_path: Path
) -> None:
    run = bench.options.runs_dir / record.run_id

    for words in (
        ("show", run, "small"),
        ("show", run, "small", "--json"),
        *(("report", run, "--format", name) for name in ("table", "json", "csv", "markdown")),
        ("rescore", run, "--json"),
    ):
        done = run_program(*words, env=environ, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert _harmful(done.stdout + done.stderr) == [], words

    kept = [path for path in run.rglob("*") if path.is_file() and path.suffix != ".diff"]
    assert {".json", ".jsonl", ".lock", ".log"} == {path.suffix for path in kept}
    for path in kept:
        assert _harmful(path.read_bytes().decode()) == [], path.name
        assert _harmful(path.name) == []


def _harmful(text: str) -> list[str]:
    return sorted({ascii(found) for found in HARMFUL.findall(text)})
