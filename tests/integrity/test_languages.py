import pytest

from agentbench.errors import InputError
from agentbench.integrity.control_plan import ControlledTests, ControlPlan, KnownFunctions
from agentbench.integrity.languages import decoded, language_of
from agentbench.scoring.evidence import NodeId

GO = b"""package calc

func TestA(t *testing.T) { if f() != 2002 { t.Fail() } }

func TestB(t *testing.T) {
	for _, tt := range []struct{ name string; want int }{{"one", 3003}, {"two", 4004}} {
		t.Run(tt.name, func(t *testing.T) { if g() != tt.want { t.Fail() } })
	}
	t.Run(h(), func(t *testing.T) {})
}

func TestC(t *testing.T) { if err := f(); err != nil { t.Fatal(err) } }
"""
IDS = tuple(
    NodeId(f"a_test.go::{name}")
    for name in ("TestA", "TestB", "TestB/one", "TestB/two", "TestB/x", "TestC")
)


def test_language_without_an_engine_is_named():
    with pytest.raises(InputError, match=r"tests in Rust are not changed in blind runs"):
        language_of("tests/sum.rs")
    with pytest.raises(InputError, match=r"tests in \*.rst files are not changed in blind runs"):
        language_of("README.rst")
    with pytest.raises(InputError, match="tests in such files are not changed"):
        language_of("Makefile")


def test_only_python_is_sealed():
    with pytest.raises(InputError, match="tests in TypeScript are not sealed"):
        decoded(b"", "sum.test.ts")


@pytest.mark.parametrize("file", ["a_test.go", "a.test.js", "a.spec.mts", "a.test.tsx"])
def test_file_that_is_missing_or_no_text_cannot_be_changed(file: str):
    with pytest.raises(InputError, match="in neither the repository nor the hidden tests"):
        language_of(file).decoded(None, file)
    with pytest.raises(InputError, match="cannot be decoded"):
        language_of(file).decoded(b"\xff", file)


def test_subtests_fail_with_their_function_and_unknown_ones_are_left_out():
    tests = ControlledTests(files={"a_test.go": GO}, fixed=IDS, passing=())
    plan = ControlPlan(tests, 1, certain_only=True)
    halves = [plan.half(side, KnownFunctions()) for side in (0, 1)]
    failing = [test for half in halves for test in half.must_fail]
    assert sorted(failing) == sorted(set(IDS) - {"a_test.go::TestB/x"})
    # Where its function is not changed, it passes.
    assert ["a_test.go::TestB/x" in half.must_pass for half in halves] == [
        "a_test.go::TestB" in half.must_pass for half in halves
    ]
    changed = {one.original for half in halves for one in half.drawn}
    assert changed == {"2002", "3003", "4004"}
    weak = {test for half in halves for test in half.weakly_failing}
    assert weak == {"a_test.go::TestC"}


def test_value_of_go_that_stands_elsewhere_makes_its_test_weak():
    tests = ControlledTests(
        files={"a_test.go": GO}, fixed=IDS[:1], passing=(), others={"b_test.go": b"// 2002"}
    )
    plan = ControlPlan(tests, 1, certain_only=True)
    weak = {test for side in (0, 1) for test in plan.half(side, KnownFunctions()).weakly_failing}
    assert weak == {"a_test.go::TestA"}
