"""What all benchmarks share: turns in one run, medians, spread, ratios, peak memory, the machine.

Seconds drift on shared machines, so variants take turns and a ratio is taken within a round, where
both sides met the same weather. A benchmark prints a table and, with --json FILE, writes what
docs/performance.md is made of.

Commands are measured as installed ones: with the byte-code of their modules. It is in a folder of
the benchmark, whatever this environment says about byte-code, and the first run of each writes it.
"""

import argparse
import atexit
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

LEAST_ROUNDS = 5
"""Of a run whose figures are quoted."""

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One thing as it was measured, once per round; its ratios are to another one, by round."""

    name: str
    unit: str
    values: tuple[float, ...]
    ratios: tuple[float, ...] = ()
    against: str = ""

    @property
    def median(self) -> float:
        """Of the values."""
        return statistics.median(self.values)

    @property
    def ratio(self) -> float | None:
        """The median of the rounds' ratios."""
        return statistics.median(self.ratios) if self.ratios else None

    def against_measure(self, base: "Measure") -> "Measure":
        """The same with its ratio to another one in each round."""
        ratios = tuple(own / other for own, other in zip(self.values, base.values, strict=True))
        return Measure(
            name=self.name, unit=self.unit, values=self.values, ratios=ratios, against=base.name
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """How a process ended that was measured as a whole."""

    seconds: float
    processor_s: float  # of it and of the children that it waited for
    peak_bytes: int
    together_bytes: int = 0  # the most that it and all its children held at a time, if asked for


def arguments(text: str | None, *, rounds: int = LEAST_ROUNDS) -> argparse.ArgumentParser:
    """The options that every benchmark has; `text` is its docstring."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=_positive, default=rounds, metavar="N",
        help=f"turns that each variant takes (default {rounds}; fewer than {LEAST_ROUNDS} are no "
        "figures to quote)",
    )  # fmt: skip
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the figures to a file, too"
    )
    return parser


def take_turns(
    variants: Mapping[str, Callable[[], float]],
    rounds: int,
    *,
    unit: str = "s",
    against: str | None = None,
) -> list[Measure]:
    """Measure variants in turns; each says itself what a turn came to.

    Args:
        variants: By name; `timed(work)` makes one of any work.
        rounds: How many turns each takes. Who begins changes from round to round.
        unit: Of what they return.
        against: The variant that the others are compared with; the first one by default.
    """
    values: dict[str, list[float]] = {name: [] for name in variants}
    names = list(variants)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            values[name].append(variants[name]())
    base = values[against or names[0]]
    return [
        compared(name, values[name], base, unit=unit, against=against or names[0]) for name in names
    ]


def compared(
    name: str, values: Sequence[float], base: Sequence[float], *, unit: str, against: str
) -> Measure:
    """A measure with its ratio to another one, whose values are of the same rounds."""
    whole = Measure(name=against, unit=unit, values=tuple(base))
    return Measure(name=name, unit=unit, values=tuple(values)).against_measure(whole)


def timed(work: Callable[[], object]) -> Callable[[], float]:
    """A variant: the seconds that some work takes."""

    def turn() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return turn


def command(argv: Sequence[str], env: Mapping[str, str] | None = None) -> Callable[[], float]:
    """A variant: the seconds that a whole command takes, which must exit 0."""
    return lambda: child(argv, env=env).seconds


def child(
    argv: Sequence[str], *, env: Mapping[str, str] | None = None, together: bool = False
) -> Child:
    """Run a command to its end: its seconds, and the most memory that it held.

    A process that is forked off holds its parent's memory for a moment, and is counted with it:
    the least that can be measured is what this one holds. A program runs with byte-code that its
    first run has written, which a benchmark does not count.

    Args:
        argv: The command.
        env: Variables besides this process's own.
        together: Look ten times a second at what it holds together with its children.

    Raises:
        SystemExit: it failed.
    """
    started = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            argv, stdout=subprocess.DEVNULL, stderr=said,
            env=_with_byte_code() | dict(env or {}),
        )  # fmt: skip
        most = 0
        ended, status, usage = os.wait4(process.pid, os.WNOHANG if together else 0)
        while not ended:
            most = max(most, _held(process.pid))
            time.sleep(0.1)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            text = said.read().decode()
            raise SystemExit(f"{argv}: exit code {process.returncode}\n{text}")
    return Child(
        seconds=seconds,
        processor_s=usage.ru_utime + usage.ru_stime,
        peak_bytes=usage.ru_maxrss * 1024,
        together_bytes=most,
    )


def _with_byte_code() -> dict[str, str]:
    """This environment, in which Python keeps the byte-code of modules as of installed ones."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": _byte_code_folder()}


@cache
def _byte_code_folder() -> str:
    folder = tempfile.mkdtemp(prefix="agentbench-byte-code-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _held(pid: int) -> int:
    """Bytes of a process and its children; of what several share each counts its part."""
    try:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:  # it has ended
        return 0
    own = next((line for line in told.splitlines() if line.startswith("Pss:")), "Pss: 0 kB")
    return 1024 * int(own.split()[1]) + sum(_held(int(each)) for each in children)


def machine() -> dict[str, str | int]:
    """What the figures were taken on; nothing that would name the machine."""
    return {
        "cores": os.cpu_count() or 0,
        "processor": _after("/proc/cpuinfo", "model name"),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MIB,
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
    }


def show(
    benchmark: str,
    measures: Iterable[Measure],
    options: argparse.Namespace,
    *,
    notes: Sequence[str] = (),
    facts: Mapping[str, str | int] | None = None,
) -> None:
    """Print measures as a table and, where --json asks for it, write them as JSON.

    Args:
        benchmark: Its name, as docs/performance.md knows it.
        measures: All of them, in the order of the table.
        options: What `arguments` parsed.
        notes: Sentences that belong to the figures.
        facts: Of the subject: the engine's version, the size of what was read.
    """
    rows = list(measures)
    print(table(rows))
    for note in notes:
        print(note)
    if options.json is not None:
        document = {
            "benchmark": benchmark,
            "taken": f"{datetime.now(UTC):%Y-%m-%d}",
            "rounds": options.rounds,
            "machine": machine(),
            "facts": dict(facts or {}),
            "measures": [_as_json(row) for row in rows],
            "notes": list(notes),
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def table(measures: Sequence[Measure]) -> str:
    """Measures for a person: median, spread (least to most), ratio."""
    width = max(map(len, (row.name for row in measures)), default=0)
    return "\n".join(_line(row, width) for row in measures)


def _line(row: Measure, width: int) -> str:
    low, high = min(row.values), max(row.values)
    text = f"{row.name:<{width}}  {row.median:10.3f} {row.unit:<4} ({low:.3f}-{high:.3f})"
    if row.ratio is None:
        return text
    spread = f"{min(row.ratios):.2f}-{max(row.ratios):.2f}"
    return f"{text}  {row.ratio:6.2f} x ({spread}) of {row.against}"


def _as_json(row: Measure) -> dict[str, object]:
    median = {"median": _rounded(row.median), "low": min(row.values), "high": max(row.values)}
    ratio = {} if row.ratio is None else {"ratio": _rounded(row.ratio)}
    return {**asdict(row), **median, **ratio}


def _rounded(number: float) -> float:
    return float(f"{number:.4g}")


def _after(path: str, word: str) -> str:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    found = (line.partition(":")[2].strip() for line in lines if line.startswith(word))
    return next(found, "unknown")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected 1 or more, found {number}")
    return number


if __name__ == "__main__":
    sys.exit("measuring.py is what the benchmarks beside it share; run one of those")
