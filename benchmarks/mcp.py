"""The MCP server against an empty server on the same SDK, and on suites that are large or hang.

Start to first answer and latency of a call that runs nothing: ratios to the empty server, in turns.
A call that runs pytest: ratio to pytest alone on the same suite. Then a suite of 10,000 tests (size
of the answer), one of 100,000 (seconds, peak memory against the bytes of pytest's own JSON report),
a deadline and a cancel.
Run: python benchmarks/mcp.py [--largest TESTS] [--rounds N] [--json FILE]
"""

import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from measuring import MIB, Measure, arguments, compared, show, timed

_EMPTY = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

async def list_tools(context, params):
    return ListToolsResult(tools=[Tool(name="explain_failure", input_schema={"type": "object"})])

async def call_tool(context, params):
    return CallToolResult(content=[TextContent(type="text", text="{}")], structured_content={})

server = Server("empty", on_list_tools=list_tools, on_call_tool=call_tool)

async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""
_SMALL = "def test_a(): pass\n"
_MANY = "import pytest\n@pytest.mark.parametrize('n', range({}))\ndef test_n(n): pass\n"
_HANGING = """
import os, pathlib, subprocess, time
def test_a(): pass
def test_b():
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    pathlib.Path("pids").write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)
"""
_START = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "0"},
}


class Wire:
    """A server over stdio, spoken to line by line: no client's own time is measured."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._id = 0

    @property
    def peak_memory(self) -> int:
        """Bytes of the server's own process, its tests not included."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024

    def ask(self, method: str, **params: object) -> tuple[dict[str, object], int]:
        """The answer to a request, and its bytes."""
        self._id += 1
        self.say(method, params, id=self._id)
        while True:
            line = self._process.stdout.readline()
            answer = json.loads(line)
            if answer.get("id") == self._id:
                return answer, len(line)

    def say(self, method: str, params: dict[str, object], **more: object) -> None:
        """Send a message."""
        message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """End the server."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@contextmanager
def _wire(command: list[str]) -> Iterator[Wire]:
    wire = Wire(command)
    try:
        wire.ask("initialize", **_START)
        wire.say("notifications/initialized", {})
        yield wire
    finally:
        wire.close()


def _ours(root: Path) -> list[str]:
    return [sys.executable, "-m", "agentbench", "mcp", "--root", str(root), "--python", sys.prefix]


def main() -> None:
    """Measure and show."""
    parser = arguments(__doc__, rounds=9)
    parser.add_argument(
        "--largest", type=int, default=100_000, metavar="TESTS", help="of the largest suite"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentbench-mcp-benchmark-") as scratch:
        place = Path(scratch)
        measures = _start_and_latency(place, options.rounds)
        notes = [*_many(place, 10_000), *_many(place, options.largest)]
        notes += _deadline_and_cancel(place)
    show("mcp", measures, options, notes=notes)


def _suite(place: Path, name: str, text: str) -> Path:
    root = place / name
    root.mkdir()
    (root / "test_suite.py").write_text(text)
    return root


def _start_and_latency(place: Path, rounds: int) -> list[Measure]:
    root = _suite(place, "small", _SMALL)
    taken: dict[str, list[float]] = {
        name: []
        for what in ("start to first answer", "a call that runs nothing")
        for name in (f"{what}, the empty server", f"{what}, agentbench mcp")
    } | {"one test, pytest alone": [], "one test, execute_tests": []}
    servers = {"the empty server": [sys.executable, "-c", _EMPTY], "agentbench mcp": _ours(root)}
    for _ in range(rounds):
        for name, command in servers.items():
            started = time.perf_counter()
            with _wire(command) as wire:
                taken[f"start to first answer, {name}"].append(time.perf_counter() - started)
                call = timed(partial(_call, wire, "explain_failure", exit_code=1))
                call()
                latency = statistics.median(call() for _ in range(30))
                taken[f"a call that runs nothing, {name}"].append(latency)
                if name == "agentbench mcp":
                    execute = timed(partial(_call, wire, "execute_tests"))
                    taken["one test, execute_tests"].append(execute())
        taken["one test, pytest alone"].append(timed(partial(_pytest_alone, root))())
    milliseconds = {name: [1000 * each for each in values] for name, values in taken.items()}
    names = list(milliseconds)
    return [
        compared(name, milliseconds[name], milliseconds[base], unit="ms", against=base)
        for base, other in zip(names[::2], names[1::2], strict=True)
        for name in (base, other)
    ]


def _call(wire: Wire, tool: str, **arguments: object) -> tuple[dict[str, object], int]:
    return wire.ask("tools/call", name=tool, arguments=arguments)


def _pytest_alone(root: Path, *options: str) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)


def _many(place: Path, count: int) -> Iterator[str]:
    root = _suite(place, f"many-{count}", _MANY.format(count))
    report = place / f"{count}.json"
    options = ("--json-report", f"--json-report-file={report}", f"--junitxml={place}/{count}.xml")
    alone = timed(partial(_pytest_alone, root, *options))()
    with _wire(_ours(root)) as wire:
        idle = wire.peak_memory
        started = time.perf_counter()
        answer, size = _call(wire, "execute_tests", timeout_s=3600)
        took = time.perf_counter() - started
        peak = wire.peak_memory
    envelope = answer["result"]["structuredContent"]
    assert envelope["summary"]["passed"] == count, envelope["message"]
    assert size <= 64 * 1024, size
    told = report.stat().st_size
    yield f"{count:,} tests: answer {size} bytes; left out: {', '.join(envelope['omitted'])}"
    yield (
        f"{count:,} tests: {took:.1f} s, pytest with the same reports alone {alone:.1f} s: "
        f"{took / alone:.2f} x"
    )
    yield (
        f"{count:,} tests: peak memory of the server {peak / MIB:.0f} MiB (idle "
        f"{idle / MIB:.0f}); report {told / MIB:.1f} MiB: {peak / told:.2f} x, without the idle "
        f"server {(peak - idle) / told:.2f} x"
    )


def _deadline_and_cancel(place: Path) -> Iterator[str]:
    root = _suite(place, "hanging", _HANGING)
    with _wire(_ours(root)) as wire:
        started = time.perf_counter()
        answer, _ = _call(wire, "execute_tests", timeout_s=2)
        took = time.perf_counter() - started
        envelope = answer["result"]["structuredContent"]
        outcomes = [case["outcome"] for case in envelope["tests"]]
        yield f"deadline of 2 s: answer after {took:.2f} s, tests {outcomes}, left {_left(root)}"
        (root / "pids").unlink(missing_ok=True)
        wire.say("tools/call", {"name": "execute_tests", "arguments": {}}, id="cancelled")
        while not (root / "pids").exists():
            time.sleep(0.01)
        wire.say("notifications/cancelled", {"requestId": "cancelled"})
        cancelled = time.perf_counter()
        while _left(root):
            time.sleep(0.005)
        yield f"cancel: no process left after {time.perf_counter() - cancelled:.2f} s"


def _left(root: Path) -> int:
    pids = (root / "pids").read_text().split() if (root / "pids").exists() else []
    return sum(Path("/proc", pid).exists() for pid in pids)


if __name__ == "__main__":
    main()
