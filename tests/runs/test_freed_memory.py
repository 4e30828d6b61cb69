import platform
from pathlib import Path

import pytest

from agentbench.core.memory_tuning import trim_memory, trimming_memory

_MIB = 1 << 20
glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked")


def resident() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def scattered() -> list[bytearray]:
    """Some pieces among many that are freed: pages between them are free, the end is not."""
    pieces = [bytearray(3000) for _ in range(20_000)]
    return pieces[::200]


@glibc
def test_pages_between_what_is_held_go_back():
    held = scattered()
    before = resident()
    trim_memory()
    assert before - resident() > 40 * _MIB
    assert len(held) == 100


@glibc
def test_memory_goes_back_while_there_are_more_items():
    held, least, most = [], [], []
    for number in trimming_memory(each for each in range(64)):
        if number == 30:
            held.append(scattered())
            most.append(resident())
        if number == 33:
            least.append(resident())
    assert most[0] - least[0] > 40 * _MIB


def test_the_items_are_the_same():
    assert list(trimming_memory(each for each in range(100))) == list(range(100))


def test_who_ends_early_ends_what_they_come_from():
    ended = []

    def items():
        try:
            yield from range(100)
        finally:
            ended.append(True)

    given = trimming_memory(items())
    next(given)
    given.close()
    assert ended == [True]
