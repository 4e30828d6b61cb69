"""The web page over a run of 10,000 attempts: its first page, a filter, and the server's memory.

Requests take turns with a page of the same size that the same kind of server has ready, so that a
ratio tells what reading, filtering and escaping cost. The first look at a run, which reads it, is
measured on a server of its own in each round. In Chromium, where there is one: until the page is
there, and from a key in the filter until the rows are.
Run: python benchmarks/web_page.py [--attempts N] [--requests N] [--rounds N] [--json FILE]
"""

import argparse
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from measuring import MIB, arguments, compared, show
from synthetic_run import Wanted, write_run

from agentbench.runs.store.reading import read_run

_STATIC = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route
text = sys.stdin.read()
app = Starlette(routes=[Route("/", lambda _request: HTMLResponse(text))])
uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="critical", lifespan="off")
"""
_FILTER = "?q=cache&verdict=failed"
_SORT = "?sort=-seconds&page=50"
_SAME_SIZE = "a page of that size, ready"


class Server:
    """A process that answers."""

    def __init__(self, process: "subprocess.Popen[str]", address: str) -> None:
        self.process = process
        self.http = httpx2.Client(base_url=address, timeout=300)

    def seconds(self, path: str) -> float:
        """Until an answer is there, whole."""
        started = time.perf_counter()
        self.http.get(path).raise_for_status()
        return time.perf_counter() - started

    def memory(self, name: str) -> int:
        """Bytes: VmRSS now, VmHWM at most."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", status)[1]) * 1024


def main() -> None:
    """Measure and show."""
    parser = arguments(__doc__)
    parser.add_argument("--attempts", type=int, default=10_000, metavar="N")
    parser.add_argument(
        "--requests", type=int, default=20, metavar="N", help="of each kind in a round"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentbench-web-page-benchmark-") as scratch:
        wanted = Wanted(runs_dir=Path(scratch), tasks=options.attempts // 2, attempts=2)
        run = write_run(wanted)
        _measure(run, options)


def _measure(run: Path, options: argparse.Namespace) -> None:
    here = f"/runs/{run.name}"
    attempt = f"{here}/attempts/{_first_attempt(run)}"
    values: dict[str, list[float]] = {}
    peaks: list[int] = []
    idle: list[int] = []
    for _ in range(options.rounds):
        with _page_server(run.parent) as server:
            server.http.get("/static/view.js")
            idle.append(server.memory("VmRSS"))
            first = server.seconds(here)
            size = len(server.http.get(here).content)
            with _static_server(size) as static:
                ways: dict[str, Callable[[], float]] = {
                    _SAME_SIZE: lambda: static.seconds("/"),
                    "the run's first page": lambda: server.seconds(here),
                    "a filter": lambda: server.seconds(f"{here}/parts{_FILTER}"),
                    "another order, page 50": lambda: server.seconds(here + _SORT),
                    "an attempt": lambda: server.seconds(attempt),
                }
                taken = {name: _median(ask, options.requests) for name, ask in ways.items()}
            taken["the first look at the run"] = first
            taken |= _in_chromium(server.http.base_url, here)
            for name, seconds in taken.items():
                values.setdefault(name, []).append(1000 * seconds)
            peaks.append(server.memory("VmHWM"))
    base = values[_SAME_SIZE]
    measures = [
        compared(name, own, base, unit="ms", against=_SAME_SIZE) for name, own in values.items()
    ]
    measures.append(
        compared(
            "memory at most", [peak / MIB for peak in peaks], [each / MIB for each in idle],
            unit="MiB", against="a server that has read nothing",
        )
    )  # fmt: skip
    facts = {
        "attempts": options.attempts,
        "attempts.jsonl, MiB": (run / "attempts.jsonl").stat().st_size // MIB,
        "page, KiB": size // 1024,
    }
    show("web_page", measures, options, facts=facts)


def _median(ask: Callable[[], float], count: int) -> float:
    return statistics.median(ask() for _ in range(count))


def _first_attempt(run: Path) -> str:
    return read_run(run).summaries[0].folder_name


@contextmanager
def _page_server(runs: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "agentbench", "view", str(runs), "--port", "0"]
    with _ended(subprocess.Popen(command, stderr=subprocess.PIPE, text=True)) as process:
        address = re.match(r"serving on (http://[^/]+)", process.stderr.readline())[1]
        yield Server(process, address)


@contextmanager
def _static_server(size: int) -> Iterator[Server]:
    port = _free_port()
    command = [sys.executable, "-c", _STATIC, str(port)]
    with _ended(subprocess.Popen(command, stdin=subprocess.PIPE, text=True)) as process:
        process.stdin.write("x" * size)
        process.stdin.close()
        server = Server(process, f"http://127.0.0.1:{port}")
        while True:
            try:
                server.http.get("/")
                break
            except httpx2.ConnectError:
                time.sleep(0.05)
        yield server


@contextmanager
def _ended(process: "subprocess.Popen[str]") -> Iterator["subprocess.Popen[str]"]:
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        if process.stderr is not None:
            process.stderr.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def _in_chromium(address: object, here: str) -> dict[str, float]:
    """Seconds that a person waits; nothing where there is no browser."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        return {}
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        page = browser.new_page()
        page.goto(f"{str(address).rstrip('/')}/")  # style and script are had, the engine is warm
        started = time.perf_counter()
        page.goto(f"{str(address).rstrip('/')}{here}")
        loaded = time.perf_counter() - started
        filter_box = page.get_by_role("searchbox", name="Filter")
        filter_box.fill("cach")
        page.get_by_text("that the filter lets through").wait_for()
        started = time.perf_counter()
        filter_box.press("e")
        page.wait_for_url("**q=cache")
        filtered = time.perf_counter() - started
        browser.close()
    return {"first page in Chromium": loaded, "from a key to the rows in Chromium": filtered}


if __name__ == "__main__":
    os.environ.pop("AGENTBENCH_VIEW_TOKEN", None)
    main()
