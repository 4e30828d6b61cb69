"""An event loop in a thread: others give it work, and it ends when told to."""

import asyncio
import threading

from agentbench.sandbox.relay import LoopThread


def test_loop_serves_any_thread() -> None:
    loop, found = LoopThread(), []

    async def work(number: int) -> int:
        await asyncio.sleep(0)
        return number

    threads = [
        threading.Thread(target=lambda n=n: found.append(loop.run(work(n)))) for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    loop.close()
    assert sorted(found) == list(range(20))


def test_stopping_the_loop_cancels_tasks() -> None:
    loop, ended = LoopThread(), threading.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def begin() -> None:
        begin.task = asyncio.ensure_future(hang())
        await asyncio.sleep(0)

    loop.run(begin())
    loop.close()
    assert ended.is_set()
