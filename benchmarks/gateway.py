"""The gateway against direct access: added latency, many streams at a time, and what has no end.

Direct requests and requests through a door are made in turns, to one scripted server, streamed and
not: the median of each round, and what the gateway adds. Then 200 streams at a time; then a client
that sends 1 GB, a server that never ends, one that resets: peak memory, the answer, what is
recorded. The gateway runs in a process of its own.
Run: python benchmarks/gateway.py [--requests N] [--streams N] [--rounds N] [--json FILE]
"""

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from measuring import MIB, Measure, arguments, compared, show

sys.path.insert(0, str(Path(__file__).parents[1]))  # the scripted model is the tests' own

from tests.fakes.scripted_model import Answer, Asked, Endless, Reset, Say, ScriptedModel, Tokens

_PATH = "/v1/chat/completions"
_TEXT = "a line of an answer, such as models write them, again and again. " * 4
_TURNS = [{"role": "user", "content": "x" * 4000}] * 10  # 40 KB of conversation
_BODY = {"model": "gpt-5", "messages": _TURNS}
_HUGE = 1 << 30


class Way:
    """A client and where it goes: straight to the server, or through a gateway."""

    def __init__(self, base_url: str, key: str) -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        headers = {"authorization": f"Bearer {key}"}
        self.http = httpx2.Client(base_url=base_url, headers=headers, limits=limits, timeout=120)

    def whole(self) -> float:
        """Seconds until an answer is there."""
        started = time.perf_counter()
        self.http.post(_PATH, json=_BODY).raise_for_status()
        return time.perf_counter() - started

    def first_piece(self) -> float:
        """Seconds until the first piece of a stream is there."""
        started = time.perf_counter()
        with self.http.stream("POST", _PATH, json={**_BODY, "stream": True}) as answer:
            pieces = answer.iter_raw()
            next(pieces)
            took = time.perf_counter() - started
            for _ in pieces:
                pass
        return took

    def stream(self) -> str:
        """All of a stream."""
        return self.http.post(_PATH, json={**_BODY, "stream": True}).text


class Gateway:
    """`agentbench gateway` before a server."""

    def __init__(self, server: ScriptedModel, log: Path) -> None:
        command = [sys.executable, "-m", "agentbench", "gateway", "--model", "openai/gpt-5"]
        environ = {**os.environ, "OPENAI_API_KEY": server.key, "OPENAI_BASE_URL": server.base_url}
        self._process = subprocess.Popen(
            [*command, "--json", "--no-probe", "--log", str(log)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
        )
        self.found = json.loads(self._process.stdout.readline())

    @property
    def peak_memory(self) -> int:
        """Bytes, since the last `forget_peak`."""
        return self._memory("VmHWM")

    @property
    def memory(self) -> int:
        """Bytes, now."""
        return self._memory("VmRSS")

    def _memory(self, name: str) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", status)[1]) * 1024

    def forget_peak(self) -> None:
        """Let the peak be what is used now."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    def end(self) -> None:
        """Stop it."""
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=60)


@contextmanager
def _open(script: Callable[[Asked], Answer]) -> Iterator[tuple[ScriptedModel, Gateway, Path]]:
    with tempfile.TemporaryDirectory(prefix="agentbench-gateway-benchmark-") as scratch:
        log = Path(scratch, "llm.jsonl")
        with ScriptedModel(script) as server:
            gateway = Gateway(server, log)
            try:
                yield server, gateway, log
            finally:
                gateway.end()


def main() -> None:
    """Measure and show."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--requests", type=int, default=100, metavar="N", help="of each kind in a round"
    )
    parser.add_argument("--streams", type=int, default=200, metavar="N", help="at a time")
    options = parser.parse_args()
    measures = _latency(options.rounds, options.requests)
    notes = [_many(options.streams), *_without_end()]
    show("gateway", measures, options, notes=notes, facts={"requests a round": options.requests})


def _latency(rounds: int, requests: int) -> list[Measure]:
    def script(_asked: Asked) -> Answer:
        return Say(_TEXT, Tokens(1000, 100))

    with _open(script) as (server, gateway, _):
        direct = Way(server.base_url, server.key)
        through = Way(gateway.found["base_url"], gateway.found["token"])
        ways = {
            "whole answer": (direct.whole, through.whole),
            "first piece of a stream": (direct.first_piece, through.first_piece),
        }
        for one, other in ways.values():
            for _ in range(20):  # connections, caches
                one(), other()
        return [row for what, way in ways.items() for row in _pairs(what, *way, rounds, requests)]


def _pairs(
    what: str, one: Callable[[], float], other: Callable[[], float], rounds: int, requests: int
) -> list[Measure]:
    taken = [[(1000 * one(), 1000 * other()) for _ in range(requests)] for _ in range(rounds)]
    direct = [statistics.median(pair[0] for pair in pairs) for pairs in taken]
    through = [statistics.median(pair[1] for pair in pairs) for pairs in taken]
    added = [statistics.median(pair[1] - pair[0] for pair in pairs) for pairs in taken]
    name = f"{what}, direct"
    return [
        compared(name, direct, direct, unit="ms", against=name),
        compared(f"{what}, through the gateway", through, direct, unit="ms", against=name),
        Measure(name=f"{what}, added", unit="ms", values=tuple(added)),
    ]


def _many(count: int) -> str:
    """Streams that are all open before any of them goes on."""
    go = threading.Event()

    def script(_asked: Asked) -> Answer:
        return Say(_TEXT, Tokens(1000, 100), hold=go)

    with _open(script) as (server, gateway, _):
        through = Way(gateway.found["base_url"], gateway.found["token"])
        texts: list[str] = []
        errors: list[BaseException] = []

        def one() -> None:
            try:
                texts.append(through.stream())
            except httpx2.HTTPError as fault:
                errors.append(fault)

        started = time.perf_counter()
        threads = [threading.Thread(target=one) for _ in range(count)]
        for thread in threads:
            thread.start()
        while len(server.asked) < count and not errors:
            time.sleep(0.01)
        opened = time.perf_counter() - started
        go.set()
        for thread in threads:
            thread.join()
        whole = sum(text.endswith("data: [DONE]\n\n") for text in texts)
        assert (whole, errors, server.told.input) == (count, [], 1000 * count)
        return (
            f"{count} streams at a time: all whole; all open after {opened:.2f} s, all done after "
            f"{time.perf_counter() - started:.2f} s; "
            f"peak memory {gateway.peak_memory / MIB:.0f} MiB"
        )


def _without_end() -> Iterator[str]:
    answers: list[Answer] = [Say("ok")]

    with _open(lambda _asked: answers[0]) as (_, gateway, log):
        through = Way(gateway.found["base_url"], gateway.found["token"])
        through.whole()
        for what, answer, ask in (
            ("a client that sends 1 GB", Say("ok"), lambda: _send_huge(through)),
            ("a server that never ends", Endless(), lambda: _outcome(through.stream)),
            ("the same, not streamed", Endless(), lambda: _outcome(through.whole)),
            ("a server that resets", Reset(after_chunks=2), lambda: _outcome(through.stream)),
            ("the same, not streamed", Reset(), lambda: _outcome(through.whole)),
        ):
            answers[0] = answer
            before = gateway.memory
            with contextlib.suppress(OSError):
                gateway.forget_peak()
            started = time.perf_counter()
            outcome = ask()
            took = time.perf_counter() - started
            more = max(gateway.peak_memory - before, 0) / MIB
            yield f"{what}: {outcome}, after {took:.2f} s; peak memory +{more:.0f} MiB"
        answers[0] = Say("ok")
        assert through.whole()
        time.sleep(0.5)
        yield f"recorded: {'; '.join(_recorded(log))}"


def _send_huge(through: Way) -> str:
    def parts() -> Iterator[bytes]:
        for _ in range(_HUGE // 65536):
            yield b"x" * 65536

    return _outcome(lambda: through.http.post(_PATH, content=parts()).raise_for_status())


def _outcome(ask: Callable[[], object]) -> str:
    try:
        ask()
    except httpx2.HTTPStatusError as answer:
        return f"answered {answer.response.status_code}"
    except httpx2.TransportError as fault:
        return f"{type(fault).__name__}"
    return "answered"


def _recorded(log: Path) -> list[str]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [f"{line['error']} ({line['message']})" for line in lines if line.get("error")]


if __name__ == "__main__":
    main()
