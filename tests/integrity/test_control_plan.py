from pathlib import Path
from random import Random
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentbench.integrity.control_plan import (
    ControlledTests,
    ControlMemory,
    ControlPlan,
    FunctionKey,
    KnownFunctions,
    _partition,
)
from agentbench.integrity.records import VisibleValue
from agentbench.scoring.evidence import NodeId

ONE, OTHER = FunctionKey("t.py", "test_a"), FunctionKey("t.py", "TestB::test_c")
KNOWN = KnownFunctions(uncertain=frozenset({ONE}), useless=frozenset({OTHER}))


@pytest.mark.parametrize("in_file", [True, False])
def test_memory_is_only_added_to(tmp_path: Path, in_file: bool):
    memory = ControlMemory(tmp_path / "controls.json" if in_file else None)
    assert memory.recall() == KnownFunctions()
    memory.remember(KnownFunctions(uncertain=KNOWN.uncertain))
    memory.remember(KnownFunctions(useless=KNOWN.useless))
    assert memory.recall() == KNOWN


def test_memory_is_shared_with_other_attempts(tmp_path: Path):
    ControlMemory(tmp_path / "controls.json").remember(KNOWN)
    assert ControlMemory(tmp_path / "controls.json").recall() == KNOWN


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"uncertain": 3}', b'{"more": []}'])
def test_damaged_memory_is_empty_and_rewritten(tmp_path: Path, content: bytes):
    path = tmp_path / "controls.json"
    path.write_bytes(content)
    memory = ControlMemory(path)
    assert memory.recall() == KnownFunctions()
    memory.remember(KNOWN)
    assert ControlMemory(path).recall() == KNOWN


def test_flipped_bit_empties_the_memory(tmp_path: Path):
    path = tmp_path / "controls.json"
    ControlMemory(path).remember(KNOWN)
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 2]) + content[at + 1 :])
        assert ControlMemory(path).recall() == KnownFunctions()


def test_missing_folder_costs_only_the_memory(tmp_path: Path):
    memory = ControlMemory(tmp_path / "none" / "controls.json")
    memory.remember(KNOWN)
    assert memory.recall() == KNOWN


@given(st.sets(st.text(max_size=3)), st.integers())
def test_partitions_are_complementary(names: set[str], seed: int):
    first, second = _partition(names, Random(seed))
    assert first | second == names
    assert not first & second
    assert bool(second) is (len(names) > 1)
    assert _partition(sorted(names, reverse=True), Random(seed)) == (first, second)


def test_partitions_have_random_sizes():
    assert {len(_partition("abcdefgh", Random(seed))[0]) for seed in range(99)} == {*range(1, 8)}


MANY = "".join(f"def test_{n}():\n    assert f({n}) == {n * 10}\n\n" for n in range(12))
IDS = tuple(NodeId(f"t.py::test_{n}") for n in range(12))


def plan(fixed=IDS[:4], kept=(), *, source=MANY, seed=1, certain_only=False) -> ControlPlan:
    tests = ControlledTests(
        files={"t.py": source.encode()}, fixed=tuple(fixed), passing=tuple(kept)
    )
    return ControlPlan(tests, seed, certain_only=certain_only)


def keys(*names: str) -> frozenset[FunctionKey]:
    return frozenset(FunctionKey("t.py", name) for name in names)


def test_each_test_must_fail_in_exactly_one_run():
    drawn = plan()
    first, second = (drawn.half(side, KnownFunctions()) for side in (0, 1))
    assert sorted((*first.must_fail, *second.must_fail)) == sorted(IDS[:4])
    assert set(first.must_pass) == set(second.must_fail)
    assert len(first.must_fail) == 2
    assert first.files["t.py"] != second.files["t.py"]
    assert {one.function for one in first.drawn} == {n.partition("::")[2] for n in first.must_fail}


def test_few_tests_to_fix_are_joined_by_passing_tests():
    drawn = plan(IDS[:1], IDS[1:])
    chosen = drawn.sides[0] | drawn.sides[1]
    assert FunctionKey("t.py", "test_0") in chosen
    assert len(chosen) == 8
    many = plan(IDS[:10], IDS[10:])
    assert many.sides[0] | many.sides[1] == keys(*(f"test_{n}" for n in range(10)))


def test_equal_seeds_draw_equal_runs():
    assert plan(seed=5).half(0, KnownFunctions()) == plan(seed=5).half(0, KnownFunctions())
    assert len({plan(seed=n).half(0, KnownFunctions()).must_fail for n in range(20)}) > 3


@pytest.mark.parametrize(
    ("statement", "reason", "is_weak"),
    [
        (
            "assert f(2) == 200\n    assert g(x)",
            "line 3: its expected value stays in the test",
            True,
        ),
        (
            "assert f(2) == 200\n    assert g(x)",
            "line 3: its values are few enough to be guessed",
            False,
        ),
        ("assert [f(1), f(2)] == [True, False]", None, True),
    ],
)
def test_change_of_another_value_is_weak(statement, reason, is_weak):
    visible = {} if reason is None else {NodeId("t.py::test_a"): VisibleValue(reason=reason)}
    source = f"def test_a():\n    {statement}\n"
    tests = ControlledTests(
        files={"t.py": source.encode()},
        fixed=(NodeId("t.py::test_a"),),
        passing=(),
        visible=visible,
    )
    drawn = ControlPlan(tests, 1, certain_only=False)
    halves = [drawn.half(side, KnownFunctions()) for side in (0, 1)]
    weak = {test for half in halves for test in half.weakly_failing}
    assert bool(weak) is is_weak


@pytest.mark.parametrize(
    ("other", "is_weak"),
    [
        ("assert g(4711)", True),
        ("assert g('a 4711')", True),
        ("assert g(47110)", False),
        ("assert g(1)", False),
    ],
)
def test_expected_value_that_stands_elsewhere_makes_a_test_weak(other, is_weak):
    source = f"def test_0():\n    assert f() == 4711\n\ndef test_1():\n    {other}\n"
    half = next(
        half
        for side in (0, 1)
        if IDS[0] in (half := plan(IDS[:1], source=source).half(side, KnownFunctions())).must_fail
    )
    reasons = [one.reason for one in half.weak if one.function == "test_0"]
    assert (reasons == ["the value that it expects also stands in another place of the tests"]) is (
        is_weak
    )
    assert (IDS[0] in half.weakly_failing) is is_weak


def test_all_cases_of_a_function_fail_together():
    source = dedent("""
        import pytest
        @pytest.mark.parametrize("n, wanted", [(1, 10), (2, 20), (3, 30)])
        def test_a(n, wanted):
            assert f(n) == wanted
    """)
    ids = tuple(NodeId(f"t.py::test_a[{n}-{n}0]") for n in (1, 2, 3))
    drawn = plan(ids[:1], ids[1:], source=source)
    assert sorted(drawn.half(0, KnownFunctions()).must_fail) == sorted(ids)
    assert sorted(drawn.half(1, KnownFunctions()).must_pass) == sorted(ids)


def test_ids_do_not_show_expected_values():
    source = dedent("""
        import pytest
        @pytest.mark.parametrize("n, wanted", [(1, 4711), (2, 4712)])
        def test_a(n, wanted):  # 4711, really
            assert f(n) == wanted
    """)
    ids = tuple(NodeId(f"t.py::test_a[{n}-471{n}]") for n in (1, 2))
    half = plan(ids, source=source).half(0, KnownFunctions())
    assert set(half.renamed) == set(ids)
    assert not any("471" in new for new in half.renamed.values())
    assert b"4711" not in half.files["t.py"]


def test_uncertain_function_fails_at_its_end():
    half = plan(IDS[:1]).half(0, KnownFunctions(uncertain=keys("test_0")))
    assert half.must_fail == IDS[:1]
    assert half.weakly_failing == {IDS[0]}
    assert half.drawn == ()
    assert [weak.function for weak in half.weak] == ["test_0"]


def test_useless_function_is_not_controlled():
    for side in (0, 1):
        half = plan(IDS[:2]).half(side, KnownFunctions(useless=keys("test_0")))
        assert IDS[0] not in (*half.must_fail, *half.must_pass)
        assert IDS[1] in (*half.must_fail, *half.must_pass)


def test_doubtful_changes_need_a_reference_solution():
    source = "def test_0():\n    if g():\n        assert f() == 3\n"
    relied, certain = (plan(IDS[:1], source=source, certain_only=yes) for yes in (False, True))
    assert [one.doubt >= 3 for one in relied.half(0, KnownFunctions()).drawn] == [True]
    assert certain.half(0, KnownFunctions()).drawn == ()
    assert certain.half(0, KnownFunctions()).must_fail == IDS[:1]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("t.py", b"def test(:", "valid Python"),
        ("t.py", b"x = '\xff'", "cannot be decoded"),
        ("t.py", b"# coding: no-such\n", "cannot be decoded"),
        ("t.txt", b">>> 1\n1\n", "tests in *.txt files are not changed"),
        ("t.py", None, "in neither"),
    ],
)
def test_unreadable_file_is_named(name, content, reason):
    test = NodeId(f"{name}::test")
    drawn = ControlPlan(
        ControlledTests(files={name: content}, fixed=(test,), passing=()), 1, certain_only=False
    )
    assert drawn.sides == (frozenset(), frozenset())
    (weak,) = drawn.unreadable
    assert (weak.file, weak.function) == (name, "*")
    assert reason in weak.reason


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig", "cp1251"])
def test_rewritten_file_keeps_its_encoding(encoding):
    cookie = "" if "utf" in encoding else f"# -*- coding: {encoding} -*-\n"
    text = f"{cookie}def test_0():\n    assert f() == '{'é' if encoding == 'latin-1' else 'ж'}'\n"
    tests = ControlledTests(files={"t.py": text.encode(encoding)}, fixed=IDS[:1], passing=())
    half = ControlPlan(tests, 1, certain_only=False).half(1, KnownFunctions())
    compile(half.files["t.py"], "t.py", "exec")
    assert half.must_pass == IDS[:1]


def test_undefined_test_has_to_pass():
    made = NodeId("t.py::test_generated")
    drawn = plan((IDS[0], made))
    halves = [drawn.half(side, KnownFunctions()) for side in (0, 1)]
    assert all(made in half.must_pass for half in halves)


def test_tests_of_other_files_are_added():
    text = b"def test_a():\n    assert f() == 61\n"
    fixed, other = NodeId("t.py::test_a"), NodeId("other.py::test_a")
    tests = ControlledTests(
        files={"t.py": text, "other.py": text}, fixed=(fixed,), passing=(other,), elsewhere=(other,)
    )
    for seed in range(20):
        sides = ControlPlan(tests, seed, certain_only=False).sides
        assert [{key.file for key in side} for side in sides if side] == [{"t.py", "other.py"}]
