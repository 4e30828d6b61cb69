import itertools
import re
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.attempt.logs import LOG_BYTES, StageLog
from agentbench.sandbox.interface import Stream


def logged(path, *chunks: bytes, cap: int = LOG_BYTES) -> bytes:
    ticks = itertools.count()
    with StageLog(path / "a" / "x.log", cap=cap, clock=lambda: float(next(ticks))) as log:
        for chunk in chunks:
            log.write(Stream.STDOUT, chunk)
    return (path / "a" / "x.log").read_bytes()


def test_every_chunk_bears_its_time_and_its_stream(tmp_path):
    ticks = iter([10.0, 10.5, 71.25])
    with StageLog(tmp_path / "x.log", clock=lambda: next(ticks)) as log:
        log.write(Stream.STDOUT, b"one\ntwo\n")
        log.write(Stream.STDERR, b"no line end")
    assert (tmp_path / "x.log").read_bytes() == (
        b"[    0.500 stdout] one\ntwo\n[   61.250 stderr] no line end\n"
    )


def test_a_stage_that_prints_nothing_leaves_an_empty_log(tmp_path):
    assert logged(tmp_path) == b""


def test_what_comes_is_on_disk_at_once(tmp_path):
    with StageLog(tmp_path / "x.log") as log:
        log.write(Stream.STDOUT, b"early\n")
        assert b"early" in (tmp_path / "x.log").read_bytes()


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\x1b[31mred\x1b[0m", rb"\x1b[31mred\x1b[0m"),
        (b"\x1b]0;title\x07", rb"\x1b]0;title\x07"),
        (b"back\rover", rb"back\x0dover"),
        (b"\x00\x7f", rb"\x00\x7f"),
        ("c1 \x9b31m".encode(), rb"c1 \x9b31m"),
        (b"tab\there", b"tab\there"),
        ("caf\u00e9 \u4e2d".encode(), "caf\u00e9 \u4e2d".encode()),
        ("gnp\u202eexe\u2066".encode(), rb"gnp\u202eexe\u2066"),
        (b"\xff\xfe \x9b31m", rb"\xff\xfe \x9b31m"),
    ],
)
def test_nothing_in_it_can_steer_a_terminal(tmp_path, raw, shown):
    assert logged(tmp_path, raw) == b"[    1.000 stdout] " + shown + b"\n"


def test_of_too_much_the_head_and_the_tail_are_kept(tmp_path):
    text = logged(tmp_path, *(b"%04d\n" % number for number in range(1000)), cap=1000)
    assert b"0000\n" in text
    assert b"0999\n" in text
    assert b"0500\n" not in text
    assert b"bytes left out ...]\n" in text


def test_a_single_chunk_longer_than_the_cap_keeps_its_ends(tmp_path):
    text = logged(tmp_path, b"<" + b"x" * 5000 + b">", cap=1000)
    assert text.startswith(b"[    1.000 stdout] <xxx")
    assert text.endswith(b"xxx>\n")
    assert b"[... 4022 bytes left out ...]" in text


@given(st.lists(st.binary(max_size=300), max_size=30))
def test_a_log_keeps_to_its_cap_and_counts_what_it_leaves_out(tmp_path_factory, chunks):
    folder = tmp_path_factory.mktemp("log")
    whole = logged(folder / "whole", *chunks)
    text = logged(folder / "cut", *chunks, cap=400)
    head, rest = text[:200], text[200:]
    assert whole.startswith(head)
    note = re.match(rb"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", rest)
    if note is None or text == whole:
        assert text == whole
        return
    tail = rest[note.end() :]
    assert len(tail) <= 200
    assert len(head) + int(note[1]) + len(tail) == len(whole)
    assert whole.endswith(tail)


def test_after_its_end_a_stray_thread_writes_nothing(tmp_path):
    with StageLog(tmp_path / "x.log") as log:
        pass
    log.write(Stream.STDOUT, b"late")
    assert (tmp_path / "x.log").read_bytes() == b""


def test_several_commands_may_print_at_a_time(tmp_path):
    with StageLog(tmp_path / "x.log") as log:
        threads = [
            threading.Thread(
                target=lambda: [log.write(Stream.STDOUT, b"line\n") for _ in range(200)]
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lines = (tmp_path / "x.log").read_bytes().splitlines()
    assert len(lines) == 800
    assert all(line.endswith(b"stdout] line") for line in lines)


def test_a_full_disk_is_not_raised_in_the_middle_of_a_command():
    with StageLog(Path("/dev/full")) as log:
        log.write(Stream.STDOUT, b"nobody will read this\n")
