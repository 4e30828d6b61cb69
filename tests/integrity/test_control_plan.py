from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.control_plan import ControlMemory, FunctionKey, KnownFunctions, _partition

ONE, OTHER = FunctionKey("t.py", "test_a"), FunctionKey("t.py", "TestB::test_c")
KNOWN = KnownFunctions(uncertain=frozenset({ONE}), useless=frozenset({OTHER}))


@pytest.mark.parametrize("in_file", [True, False])
def test_it_is_only_added_to(tmp_path: Path, in_file: bool):
    memory = ControlMemory(tmp_path / "controls.json" if in_file else None)
    assert memory.recall() == KnownFunctions()
    memory.remember(KnownFunctions(uncertain=KNOWN.uncertain))
    memory.remember(KnownFunctions(useless=KNOWN.useless))
    assert memory.recall() == KNOWN


def test_another_attempt_recalls_it(tmp_path: Path):
    ControlMemory(tmp_path / "controls.json").remember(KNOWN)
    assert ControlMemory(tmp_path / "controls.json").recall() == KNOWN


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"uncertain": 3}', b'{"more": []}'])
def test_a_torn_file_says_nothing_and_is_written_anew(tmp_path: Path, content: bytes):
    path = tmp_path / "controls.json"
    path.write_bytes(content)
    memory = ControlMemory(path)
    assert memory.recall() == KnownFunctions()
    memory.remember(KNOWN)
    assert ControlMemory(path).recall() == KNOWN


def test_a_flipped_bit_anywhere_says_nothing(tmp_path: Path):
    path = tmp_path / "controls.json"
    ControlMemory(path).remember(KNOWN)
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 2]) + content[at + 1 :])
        assert ControlMemory(path).recall() == KnownFunctions()


def test_a_folder_that_is_gone_costs_only_the_memory(tmp_path: Path):
    memory = ControlMemory(tmp_path / "none" / "controls.json")
    memory.remember(KNOWN)
    assert memory.recall() == KNOWN


@given(st.sets(st.text(max_size=3)), st.integers())
def test_halves_are_complementary_and_of_random_size(names: set[str], seed: int):
    first, second = _partition(names, Random(seed))
    assert first | second == names
    assert not first & second
    assert bool(second) is (len(names) > 1)
    assert _partition(sorted(names, reverse=True), Random(seed)) == (first, second)


def test_a_single_function_is_in_the_first_half():
    assert _partition(["a"], Random(1))[0] == {"a"}


def test_the_sizes_of_halves_tell_nothing():
    assert {len(_partition("abcdefgh", Random(seed))[0]) for seed in range(99)} == {*range(1, 8)}


def test_halves_are_random():
    assert len({_partition("abcdefgh", Random(seed))[0] for seed in range(9)}) > 4
