"""Sessions that mostly wait for a model: for judge.py.

Each session asks a model over HTTP a few times, runs a command after each answer, applies the
reference solution and is scored. The model is another process, which answers after some seconds and
says how long it took, so that the added latency is that of this process and the loopback.
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

import httpx2

from agentbench import Judge, RunOptions, load_tasks

_MODEL = """
import asyncio, json, socket, sys, time
import uvicorn
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    started = time.perf_counter()
    body = b""
    while True:
        part = await receive()
        body += part.get("body", b"")
        if not part.get("more_body"):
            break
    await asyncio.sleep(json.loads(body)["seconds"])
    answer = json.dumps({"seconds": time.perf_counter() - started}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": answer})
uvicorn.run(app, fd=int(sys.argv[1]), log_level="error")
"""


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
    limits = httpx2.Limits(max_connections=None)
    client = httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120, limits=limits)

    async def session() -> str:
        """One agent: think, work, think again, and submit."""
        async with judge.session(task) as session:
            for _ in range(int(calls)):
                seconds = waits.uniform(float(least), float(most))
                began = time.perf_counter()
                answer = (await client.post("/", json={"seconds": seconds})).json()
                added.append(time.perf_counter() - began - answer["seconds"])
                await session.run("git status --short")
            await session.write(".fix.patch", task.answer_key.solution_patch)
            await session.run("git apply .fix.patch && rm .fix.patch")
            verdict = await session.score()
            return f"{verdict.reward} {verdict.reason}"

    judge = Judge(sandbox=sandbox, jobs=int(jobs), options=options)
    async with client, judge:
        await judge.score(task, patch=b"", fresh=True)  # prepares the task
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        verdicts = await asyncio.gather(*(session() for _ in range(int(sessions))))
    return {
        "verdicts": Counter(verdicts),
        "added": sorted(added),
        "before_kib": before,
        "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


if __name__ == "__main__":
    main()
