"""Sessions that mostly wait for a model: for judge.py.

Each session asks a model over HTTP a few times, runs a command after each answer, applies the
reference solution and is scored. The model is another process, which answers after some seconds and
says how long it took, so that the added latency is that of this process and the loopback. Requests
are written and read here, without a client library: 256 connections of a common one took 75 ms at
the 99th percentile with no session at all, and would hide what the judge adds. The same calls
without sessions come first, for comparison.
Prints the rewards, the added latencies and the peak memory as JSON.
Run: python benchmarks/judge_sessions.py TASK SANDBOX JOBS SESSIONS CALLS LEAST MOST RUNS_DIR
"""

import asyncio
import json
import random
import resource
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from agentbench import Judge, RunOptions, load_tasks

_MODEL = """
import asyncio, json, socket, sys, time

async def serve(reader, writer):
    while not reader.at_eof():
        try:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
        except asyncio.IncompleteReadError:
            break
        started = time.perf_counter()
        length = int(head.lower().partition(b"content-length:")[2].split()[0])
        await asyncio.sleep(json.loads(await reader.readexactly(length))["seconds"])
        answer = json.dumps({"seconds": time.perf_counter() - started}).encode()
        head = f"HTTP/1.1 200 OK\\r\\nContent-Length: {len(answer)}\\r\\n\\r\\n"
        writer.write(head.encode() + answer)
    writer.close()

async def main():
    listener = socket.socket(fileno=int(sys.argv[1]))
    async with await asyncio.start_server(serve, sock=listener, backlog=1024) as server:
        await server.serve_forever()

asyncio.run(main())
"""


class _Model:
    """One connection to the model."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, port: int) -> "_Model":
        """Connect to the model on a port."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def added(self, seconds: float) -> float:
        """Ask for an answer after some seconds; returns by how much it came later."""
        body = json.dumps({"seconds": seconds}).encode()
        began = time.perf_counter()
        head = f"POST / HTTP/1.1\r\nHost: model\r\nContent-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.partition("Content-Length:")[2].split()[0])
        answer = json.loads(await self._reader.readexactly(length))
        return time.perf_counter() - began - float(answer["seconds"])

    def close(self) -> None:
        """Disconnect."""
        self._writer.close()


def main() -> None:
    """Start the model, work, and print."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        model = subprocess.Popen(
            [sys.executable, "-c", _MODEL, str(listener.fileno())], pass_fds=[listener.fileno()]
        )
        try:
            print(json.dumps(asyncio.run(_worked(listener.getsockname()[1], sys.argv[1:]))))
        finally:
            model.terminate()
            model.wait()


async def _worked(port: int, arguments: list[str]) -> dict[str, object]:
    folder, sandbox, jobs, sessions, calls, least, most, runs_dir = arguments
    (task,) = load_tasks([Path(folder)]).tasks
    options = RunOptions(runs_dir=Path(runs_dir))
    added: list[float] = []
    waits = random.Random(1)

    async def wait_for_model(model: _Model) -> None:
        """One call of the model."""
        added.append(await model.added(waits.uniform(float(least), float(most))))

    async def only_calls() -> None:
        """The calls of a session alone."""
        model = await _Model.connect(port)
        for _ in range(int(calls)):
            await wait_for_model(model)
        model.close()

    async def session() -> str:
        """One agent: think, work, think again, and submit."""
        model = await _Model.connect(port)
        async with judge.session(task) as session:
            for _ in range(int(calls)):
                await wait_for_model(model)
                await session.run("git status --short")
            await session.write(".fix.patch", task.answer_key.solution_patch)
            await session.run("git apply .fix.patch && rm .fix.patch")
            verdict = await session.score()
        model.close()
        return f"{verdict.reward} {verdict.reason}"

    await asyncio.gather(*(only_calls() for _ in range(int(sessions))))
    without, added = sorted(added), []
    judge = Judge(sandbox=sandbox, jobs=int(jobs), options=options)
    async with judge:
        await judge.score(task, patch=b"", fresh=True)  # prepares the task
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        verdicts = await asyncio.gather(*(session() for _ in range(int(sessions))))
    return {
        "verdicts": Counter(verdicts),
        "added": sorted(added),
        "without_sessions": without,
        "before_kib": before,
        "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


if __name__ == "__main__":
    main()
