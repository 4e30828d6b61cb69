import asyncio
import sys
from threading import Barrier, Thread

from agentbench.attempt.agent_work.agent_output import printed_to
from agentbench.sandbox.interface import Stream


def test_lines_are_sent_when_complete(capsys):
    events = []
    with printed_to(lambda *part: events.append(part)):
        sys.stdout.write("one\n")
        sys.stdout.write("two")
        sys.stderr.write("error\n")
        assert events == [(Stream.STDOUT, "one\n"), (Stream.STDERR, "error\n")]
    sys.stdout.write("after\n")
    assert events[-1] == (Stream.STDOUT, "two")
    assert capsys.readouterr() == ("after\n", "")


def test_parallel_agents_have_separate_output(capsys):
    together = Barrier(4)
    seen = {}

    def agent(name):
        seen[name] = []
        with printed_to(lambda _stream, text: seen[name].append(text)):
            together.wait()
            for _ in range(50):
                sys.stdout.write(f"{name}\n")
            together.wait()

    threads = [Thread(target=agent, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    together.wait()
    sys.stdout.write("the harness\n")
    together.wait()
    for thread in threads:
        thread.join()
    assert {name: "".join(own) for name, own in seen.items()} == {n: f"{n}\n" * 50 for n in "abc"}
    assert capsys.readouterr().out == "the harness\n"


def test_asyncio_output_belongs_to_its_agent(capsys):
    events = []

    async def main():
        await asyncio.gather(asyncio.to_thread(print, "thread"), _printing("task"))

    with printed_to(lambda _stream, text: events.append(text)):
        asyncio.run(main())
    assert sorted(events) == ["task\n", "thread\n"]
    assert capsys.readouterr().out == ""


async def _printing(text):
    sys.stdout.write(f"{text}\n")


def test_streams_are_restored():
    before = sys.stdout, sys.stderr
    with printed_to(lambda *_part: None):
        assert sys.stdout.encoding == before[0].encoding
        assert not sys.stdout.isatty()
    assert (sys.stdout, sys.stderr) == before


def test_replaced_stream_is_kept(monkeypatch):
    with printed_to(lambda *_part: None):
        monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    assert sys.stdout is sys.__stdout__
