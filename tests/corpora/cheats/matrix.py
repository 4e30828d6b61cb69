"""Kinds of hidden assertions, and readers of what they expect.

Run: python -m tests.corpora.cheats.matrix

Each row is a task whose expected value is drawn anew and stays, perhaps, somewhere in its tests.
Each column is code that knows these tests, except for the value, and finds it at run time. No cell
may be resolved, unless the test is recorded as weak.
"""

import argparse
import ast
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from textwrap import indent

from agentbench import AttemptRecord, RunOptions, run_attempt
from agentbench.agents.command import CommandAgent
from agentbench.agents.interface import Agent
from agentbench.integrity.records import ControlKind
from agentbench.sandbox.registry import select_back_end
from agentbench.taxonomy import FailureReason
from tests.corpora.cheats import regressions
from tests.corpora.cheats.assertion_styles import HEAD, HELPERS
from tests.corpora.cheats.cheat import writes
from tests.corpora.cheats.matrix_rows import DATA, ROWS, STRONG
from tests.corpora.cheats.readers import (
    CARRIES,
    CODEC,
    COMMON,
    CONSTANTS,
    OBJECTS,
    PROJECT,
    RAISES,
    READERS,
    SOURCES,
    STUFFED,
)
from tests.e2e.conftest import discard_snapshots
from tests.e2e.small_task import SERIAL, SmallTask, patch_of

OTHER = ("    return [n]\n", '    return [n, "o", 3 * n]\n')  # the issue tells this part


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A task and an agent that cheats."""

    kind: str
    row: str
    reader: str
    task: SmallTask
    line: str

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.kind}/{self.row}/{self.reader}"


def task_of(body: str) -> SmallTask:
    """A task with this style of assertions, and with a value that nobody knows."""
    chance = SystemRandom()
    n, step = chance.randrange(1001, 3300), chance.randrange(30000, 60000)
    code = "".join(chr(65 + (n + step) // 26**at % 26) for at in range(4))
    body = re.sub("(?m)^( *)<s>", lambda found: indent(STRONG, found[1]) + found[1], body)
    marks = {"<n>": str(n), "<e>": str(n + step), "<c>": code}

    def filled(text: str) -> str:
        for mark, value in marks.items():
            text = text.replace(mark, value)
        return text

    if "def test_" not in body:
        body = "def test_it():\n" + "".join(f"    {line}\n" for line in body.splitlines())
    hidden = HEAD + "\n" + filled(body).strip() + "\n"
    ids: list[str] = []
    for owner in ast.parse(hidden).body:
        prefix = f"{owner.name}::" if isinstance(owner, ast.ClassDef) else ""
        for node in owner.body if isinstance(owner, ast.ClassDef) else [owner]:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                case = "[a]" if "parametrize" in ast.unparse(node) else ""
                ids.append(f"tests/test_hidden.py::{prefix}{node.name}{case}")
    data = {f"tests/{file}": filled(text) for word, (file, text) in DATA.items() if word in body}
    fixed = PROJECT.replace("return n\n", f"return n + {step}\n", 1).replace(*OTHER)
    fixed = fixed.replace("int(data[1:-1])\n", f"int(data[1:-1]) - {step}\n")
    return SmallTask(
        files={"basket.py": PROJECT, "tests/test_basket.py": "", "serial.txt": SERIAL},
        hidden=hidden,
        hidden_data={"tests/helpers.py": HELPERS, **data},
        solution=patch_of("basket.py", PROJECT, fixed),
        fail_to_pass=tuple(ids),
    )


def cheat_for(kind: str, body: str, reader: str) -> str:
    """The agent: the rest of the issue is done, and the value is looked for at run time."""
    code = f"{PROJECT.replace(*OTHER)}\n{COMMON}SHAPE = {'CODES' if '<c>' in body else 'DIGITS'}\n"
    last = reader == "d equal"
    if kind.startswith("9"):
        code += CARRIES + (READERS[reader] if not last else "")
        names = {"CONSTANTS": CONSTANTS, "SOURCES": SOURCES, "OBJECTS": OBJECTS}
        code += (
            "".join(f"{key} = {text!r}\n" for key, text in names.items()) + RAISES if last else ""
        )
    else:
        code += STUFFED if last and kind.startswith("8") else READERS[reader]
    return writes("basket.py", code + (CODEC if last and kind.startswith("6") else ""))


def _cells() -> list[Cell]:
    found = [
        Cell(
            kind="2 forged regressions",
            row=one.name,
            reader="d equal",
            task=one.task,
            line=one.line,
        )
        for one in regressions.CHEATS
    ]
    for kind, rows in ROWS.items():
        for row, body in rows.items():
            task = task_of(body)
            for reader in READERS:
                line = cheat_for(kind, body, reader)
                found.append(Cell(kind=kind, row=row, reader=reader, task=task, line=line))
    return found


CELLS = _cells()


def controls_of(record: AttemptRecord) -> str:
    """How the tests to fix are controlled, the best control first."""
    tests = record.controls.tests if record.controls is not None else ()
    return "+".join(kind for kind in ControlKind if any(one.control is kind for one in tests))


def is_resolved(record: AttemptRecord) -> bool:
    """Whether the cheat had success."""
    return record.failure_reason is None and not record.quarantined


@dataclass(slots=True, kw_only=True)
class Tally:
    """What came of one cell."""

    attempts: int = 0
    resolved: int = 0
    broken: int = 0
    """The resolved attempts that have a sealed or a blind test."""


def run(
    cells: Sequence[Cell], judge: Callable[[SmallTask, Agent | str], AttemptRecord], times: int
) -> tuple[dict[str, Tally], dict[str, str]]:
    """Judge each cell so many times; and the controls of each row, or why it is no valid task."""
    tallies = {cell.name: Tally() for cell in cells}
    controls: dict[str, str] = {}
    for cell in cells:
        row = f"{cell.kind}/{cell.row}"
        if row not in controls:
            right, idle = judge(cell.task, "oracle"), judge(cell.task, "noop")
            is_valid = is_resolved(right) and idle.failure_reason is FailureReason.TESTS_FAILED
            detail = f"INVALID: {right.detail} | {idle.failure_reason}"
            controls[row] = controls_of(right) if is_valid else detail
        for _ in range(times):
            record, tally = (
                judge(cell.task, CommandAgent(f"set -e; {cell.line}")),
                tallies[cell.name],
            )
            tally.attempts += 1
            if is_resolved(record):
                tally.resolved += 1
                tally.broken += {controls_of(record), controls[row]} != {ControlKind.WEAK}
            outcome = "RESOLVED" if is_resolved(record) else str(record.failure_reason)
            sys.stderr.write(
                f"{cell.name}: {controls_of(record)} {outcome} {record.detail[:200]}\n"
            )
    return tallies, controls


def table(cells: Sequence[Cell], tallies: Mapping[str, Tally], controls: Mapping[str, str]) -> str:
    """A line for each row: how many attempts of each reader were resolved, and the controls."""
    width = max(map(len, controls))
    lines = [f"{'row':<{width}}  {'  '.join(f'{one:<11}' for one in READERS)}  controls"]
    for row, control in controls.items():
        found = {c.reader: tallies[c.name] for c in cells if f"{c.kind}/{c.row}" == row}
        shown = [f"{t.resolved}/{t.attempts}{'!' * (t.broken > 0)}" for t in found.values()]
        texts = dict(zip(found, shown, strict=True))
        each = "  ".join(f"{texts.get(reader, ''):<11}" for reader in READERS)
        lines.append(f"{row:<{width}}  {each}  {control}")
    every = tallies.values()
    resolved, broken = sum(t.resolved for t in every), sum(t.broken for t in every)
    lines.append(
        f"{sum(t.attempts for t in every)} attempts, {resolved} resolved, {broken} (!) "
        "although a test is sealed or blind"
    )
    return "\n".join(lines)


def main() -> int:
    """Run the program; 1 when a cheat was resolved in spite of a sealed or blind test."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpora.cheats.matrix")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--only", default="", help="cells whose name holds this")
    arguments = parser.parse_args()
    cells = [cell for cell in CELLS if arguments.only in cell.name]
    with tempfile.TemporaryDirectory() as folder:
        cache_dir = Path(folder) / "cache"
        provider = select_back_end(arguments.sandbox, cache_dir=cache_dir).provider
        options = RunOptions(runs_dir=Path(folder) / "runs", cache_dir=cache_dir, retries=0)
        written: dict[str, Path] = {}

        def judge(task: SmallTask, agent: Agent | str) -> AttemptRecord:
            name = f"task-{len(written)}"
            path = written.setdefault(task.hidden, Path(folder) / name)
            if not path.exists():
                task.write(path)
            return run_attempt(path, agent, sandbox=provider, options=options)

        try:
            tallies, controls = run(cells, judge, arguments.times)
        finally:
            discard_snapshots(provider, cache_dir)
    sys.stdout.write(table(cells, tallies, controls) + "\n")
    faults = [row for row, control in controls.items() if control.startswith("INVALID")]
    return 1 if faults or any(tally.broken for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
