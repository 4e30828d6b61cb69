"""The serializer: a report of very many tests, against `json.loads` alone.

Reports are as pytest-json-report writes them: one test in twenty failed, with its traceback.
Seconds are the processor's, taken in turns in one process. Memory is the peak of a process that
does nothing else, without what it holds once all is imported.
Run: python benchmarks/serializer.py [--tests N]
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measuring import Measure, arguments, compared, show, take_turns

from agentbench.test_runs.report_files import serialize_pytest_results

_TRACEBACK = (
    "def test_number(n):\n>       assert total([n, 1]) == n + 1\nE       assert {0} == {1}\n"
    "E        +  where {0} = <function total at 0x7f5065b6d620>([{0}, 1])\n\n"
    "tests/test_numbers.py:12: AssertionError"
)
_PER_MODULE = 100
_LOADS = "json.loads alone"
_OURS = "serialize_pytest_results"
_IMPORT = "import json, sys; from pathlib import Path; from agentbench.test_runs import "
_TELL = """
status = Path("/proc/self/status").read_text()
print(status.partition("VmHWM:")[2].split()[0])
"""
_PROGRAMS = {
    "idle": "serialize_pytest_results",
    _LOADS: "serialize_pytest_results; kept = json.loads(Path(sys.argv[1]).read_bytes())",
    _OURS: "serialize_pytest_results as s; kept = s(1, Path(sys.argv[1]), '')",
}


def main() -> None:
    """Measure seconds, then memory."""
    parser = arguments(__doc__)
    parser.add_argument("--tests", type=int, default=100_000, metavar="N", help="of the report")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentbench-serializer-") as scratch:
        path = Path(scratch) / "report.json"
        path.write_text(json.dumps(report_of(options.tests)))
        size = path.stat().st_size
        seconds = take_turns(
            {
                _LOADS: _processor(lambda: json.loads(path.read_bytes())),
                _OURS: _processor(lambda: serialize_pytest_results(1, path, "")),
            },
            options.rounds,
        )
        memory = _memory(path, options.rounds)
    show("serializer", [*seconds, *memory], options, facts={"bytes of the report": size})


def _memory(path: Path, rounds: int) -> list[Measure]:
    """Peaks in MB, and their ratios to the report's own bytes."""
    peaks: dict[str, list[float]] = {name: [] for name in _PROGRAMS}
    for _ in range(rounds):
        for name, program in _PROGRAMS.items():
            peaks[name].append(_peak(_IMPORT + program + _TELL, path))
    size = [path.stat().st_size / 1e6] * rounds
    return [
        compared(
            f"peak memory, {name}",
            [peak - idle for peak, idle in zip(peaks[name], peaks["idle"], strict=True)],
            size,
            unit="MB",
            against="the report's bytes",
        )
        for name in (_LOADS, _OURS)
    ]


def _peak(program: str, path: Path) -> float:
    """In MB, as the process itself tells it: what it was forked off from would count else."""
    told = subprocess.check_output([sys.executable, "-c", program, path], text=True)
    return int(told.split()[0]) / 1000


def _processor(work: Callable[[], object]) -> Callable[[], float]:
    def turn() -> float:
        started = time.process_time()
        work()
        return time.process_time() - started

    return turn


def report_of(tests: int) -> dict[str, object]:
    """A report as pytest-json-report writes it, of so many tests."""
    failed = len(range(0, tests, 20))
    summary = {"failed": failed, "passed": tests - failed, "total": tests, "collected": tests}
    return {
        "created": 1767355200.5123456,
        "duration": tests / 1000,
        "exitcode": 1,
        "root": "/workspace",
        "environment": {},
        "summary": summary,
        "collectors": [_collector(first, tests) for first in range(0, tests, _PER_MODULE)],
        "tests": [_test(number) for number in range(tests)],
    }


def _node(number: int) -> str:
    return f"tests/test_module_{number // _PER_MODULE:04}.py::TestNumbers::test_number[{number}]"


def _collector(first: int, tests: int) -> dict[str, object]:
    found = [
        {"nodeid": _node(number), "type": "Function", "lineno": 3}
        for number in range(first, min(first + _PER_MODULE, tests))
    ]
    return {"nodeid": _node(first).rpartition("::")[0], "outcome": "passed", "result": found}


def _test(number: int) -> dict[str, object]:
    return {
        "nodeid": _node(number),
        "lineno": 3,
        "outcome": "passed" if number % 20 else "failed",
        "keywords": [
            f"test_number[{number}]",
            "parametrize",
            "pytestmark",
            str(number),
            "TestNumbers",
            f"test_module_{number // _PER_MODULE:04}.py",
            "tests",
            "workspace",
            "",
        ],
        "setup": _stage(number + 1),
        "call": _stage(number + 2) if number % 20 else _failure(number),
        "teardown": _stage(number + 3),
    }


def _stage(number: int) -> dict[str, object]:
    return {"duration": math.sqrt(number) / 1e6, "outcome": "passed"}  # with all its digits


def _failure(number: int) -> dict[str, object]:
    line: dict[str, object] = {"path": "tests/test_numbers.py", "lineno": 12}
    return {
        "duration": math.sqrt(number + 2) / 1e6,
        "outcome": "failed",
        "crash": {"path": "/workspace/tests/test_numbers.py", "lineno": 12, "message": "assert"},
        "traceback": [line | {"message": "AssertionError"}],
        "longrepr": _TRACEBACK.format(number, number + 1),
    }


if __name__ == "__main__":
    main()
