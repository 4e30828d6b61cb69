"""What is changed in Go's tests, by the shapes of their comparisons."""

from random import Random

import pytest

from agentbench.integrity.foreign_expectations.engine import ForeignTests
from agentbench.integrity.foreign_expectations.golang import _GO, GoTests
from agentbench.integrity.foreign_expectations.syntax import parse
from agentbench.integrity.records import RewrittenTestFile

FILE = "calc/calc_test.go"
HEAD = 'package calc\n\nimport "testing"\n\ntype row struct {\n\tname, in string\n\twant int\n}\n\n'


def rewritten(body: str, *names: str, seed: int = 1, uncertain=()) -> RewrittenTestFile:
    """The file with this function `TestIt`, in which these tests expect other values."""
    text = (
        body if body.startswith("package") else f"{HEAD}func TestIt(t *testing.T) {{\n{body}\n}}\n"
    )
    ids = [f"{FILE}::{name}" for name in names or ["TestIt"]]
    found = ForeignTests(GoTests()).rewrite_tests(
        text, FILE, ids, Random(seed), uncertain, listed=ids
    )
    assert not parse(text, FILE, _GO).root.has_error, text
    assert not parse(found.source, FILE, _GO).root.has_error, found.source
    return found


FAIL = "{ t.Fail() }"
CHANGED = {
    "if f() != 8001 " + FAIL: "8001",
    "if got := f(); got != 8001 " + FAIL: "8001",
    "if 8001 != f() { t.Errorf(`%d`, f()) }": "8001",
    "if got, err := f(); err != nil || got != 8001 { t.Fatal(err) }": "8001",
    "want := 8001\nif got := f(); got != want { t.Errorf(`want %d`, want) }": "8001",
    "var want int = 8001\nif got := f(); got != want { t.Error(got) }": "8001",
    "const want = 8001\nif got := f(); got != want { t.Error(got) }": "8001",
    "if f() != int64(8001) " + FAIL: "8001",
    "if f() != -8001 " + FAIL: "8001",
    "if f() != 0x1F41 " + FAIL: "8001",
    "if f() != 8_001 " + FAIL: "8001",
    "if f() != 2.5 " + FAIL: "2.5",
    "if f() != 'q' " + FAIL: '"q"',
    'if f() != "pears" ' + FAIL: '"pears"',
    "if f() != `pears` " + FAIL: '"pears"',
    'if err := f(); err.Error() != "no pears" ' + FAIL: '"no pears"',
    'if !strings.Contains(f(), "pears") ' + FAIL: '"pears"',
    "if !reflect.DeepEqual(f(), []int{8001}) " + FAIL: "8001",
    'if !reflect.DeepEqual(f(), map[string]int{"a": 8001}) ' + FAIL: "8001",
    'if !bytes.Equal(f(), []byte("pears")) ' + FAIL: '"pears"',
    "want := []row{{want: 8001}}\nif !reflect.DeepEqual(f(), want) " + FAIL: "8001",
    "if diff := cmp.Diff(8001, f()); diff != `` { t.Error(diff) }": "8001",
    "if len(f()) != 5 " + FAIL: "5",
    "assert.Equal(t, 8001, f())": "8001",
    "assert.Equalf(t, 8001, f(), `sum`)": "8001",
    "require.EqualValues(t, 8001, f())": "8001",
    "assert := assert.New(t)\nassert.Equal(8001, f())": "8001",
    "assert.Len(t, f(), 5)": "5",
    'assert.EqualError(t, f(), "no pears")': '"no pears"',
    'assert.ErrorContains(t, f(), "no pears")': '"no pears"',
    "assert.InDelta(t, 2.5, f(), 0.1)": "2.5",
    "assert.True(t, f() == 8001)": "8001",
    "want := 8001\nassert.Equal(t, want, f())": "8001",
    "assert.DeepEqual(t, f(), []string{`pears`})": '"pears"',
    "c.Assert(f(), qt.Equals, 8001)": "8001",
    "g.Expect(f()).To(Equal(8001))": "8001",
    "if f() != 5*time.Second " + FAIL: "5",
}


@pytest.mark.parametrize("body", CHANGED)
def test_value_that_is_compared_is_changed(body: str):
    found = rewritten(body)
    assert [one.original for one in found.changed] == [CHANGED[body]]
    assert found.changed[0].replacement != CHANGED[body]
    assert found.changed[0].doubt < 3
    assert found.weakly_controlled == ()


WEAK = [
    "if f() == 8001 " + FAIL,
    "if f() != g() " + FAIL,
    "if err := f(8001); err != nil { t.Fatal(err) }",
    "if f() < 8001 " + FAIL,
    "if f() != 8001 && f() != 8002 " + FAIL,
    "if f() != 8001 { t.Log(1) }",
    "assert.NotEqual(t, 8001, f())",
    "assert.NoError(t, f(8001))",
    "n := 8001\nif f(n) != n " + FAIL,
    "want := load(`golden`)\nif f() != want " + FAIL,
    "g.Expect(f()).ToNot(Equal(8001))",
]


@pytest.mark.parametrize("body", WEAK)
def test_test_without_a_certain_value_gets_a_failing_assertion(body: str):
    found = rewritten(body)
    assert found.changed == ()
    assert [one.fails for one in found.weakly_controlled] == [True]
    assert "if got, want :=" in found.source


@pytest.mark.parametrize(
    "body",
    [
        "if ok() {\nif f() != 8001 " + FAIL + "\n}",
        "if testing.Short() { return }\nif f() != 8001 " + FAIL,
        "if testing.Short() { t.Skip() }\nif f() != 8001 " + FAIL,
        "go func() { if f() != 8001 { t.Fail() } }()",
        "switch f() {\ncase 1:\nif f() != 8001 " + FAIL + "\n}",
    ],
)
def test_value_in_a_branch_needs_the_reference_solution(body: str):
    assert [one.doubt for one in rewritten(body).changed] == [3]


TABLE = """
	tests := []struct {
		name string
		in   string
		want int
	}{
		{"two pears", "a", 2002},
		{name: "three", in: "b", want: 3003},
		{name: "three", in: "c", want: 4004},
		{name: "none", in: "d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := f(tt.in); got != tt.want {
				t.Errorf("got %d", got)
			}
		})
	}
"""


@pytest.mark.parametrize(
    ("name", "original"), [("two_pears", "2002"), ("three", "3003"), ("three#01", "4004")]
)
def test_row_of_a_listed_subtest_is_changed(name: str, original: str):
    found = rewritten(TABLE, f"TestIt/{name}", "TestIt")
    assert [one.original for one in found.changed] == [original]
    assert found.undecided == ()


def test_subtest_without_a_value_of_its_own_is_left_out():
    found = rewritten(TABLE, "TestIt/none", "TestIt/three", "TestIt")
    assert [one.original for one in found.changed] == ["3003"]
    assert found.undecided == (f"{FILE}::TestIt/none",)
    assert [one.function for one in found.weakly_controlled] == ["TestIt/none"]


@pytest.mark.parametrize(
    "body",
    [
        'for in, want := range map[string]int{"a": 8001} {\nt.Run(in, func(t *testing.T) '
        "{ if f(in) != want { t.Fail() } })\n}",
        'tests := map[string]row{"a": {want: 8001}}\nfor name, tt := range tests {\n'
        "t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, f()) })\n}",
        't.Run("a", func(t *testing.T) { if f() != 8001 { t.Fail() } })',
        't.Run("a", func(t *testing.T) {\nfor _, tt := range []row{{want: 8001}} '
        "{ if f() != tt.want { t.Fail() } }\n})",
        'for _, tt := range []row{{name: "a"}} {\nt.Run(tt.name, func(t *testing.T) '
        "{ if f() != 8001 { t.Fail() } })\n}",
    ],
)
def test_value_of_a_subtest_is_found(body: str):
    found = rewritten(body, "TestIt/a")
    assert [one.original for one in found.changed] == ["8001"]
    assert rewritten(body, "TestIt/b").changed == ()


def test_arguments_of_a_helper_are_followed_to_its_comparison():
    text = (
        HEAD + "func check(t *testing.T, in string, want int) { if got := f(in); got != want "
        '{ t.Fatal(got) } }\n\nfunc TestIt(t *testing.T) { check(t, "pears", 8001) }\n'
    )
    assert [one.original for one in rewritten(text).changed] == ["8001"]


def test_method_of_a_suite_is_a_subtest():
    text = (
        HEAD + "func TestIt(t *testing.T) { suite.Run(t, new(Shop)) }\n\n"
        "func (s *Shop) TestPears() { s.Equal(8001, f()) }\n"
    )
    assert [one.original for one in rewritten(text, "TestIt/TestPears").changed] == ["8001"]


def test_output_of_an_example_is_changed():
    text = HEAD + "func ExampleIt() {\n\tfmt.Println(f())\n\t// Output: 8001\n}\n"
    (change,) = rewritten(text, "ExampleIt").changed
    assert change.original == '"8001"'


def test_table_that_two_functions_use_is_not_changed():
    text = (
        HEAD
        + "var tests = []row{{want: 8001}}\n\n"
        + "".join(
            f"func Test{n}(t *testing.T) {{ for _, tt := range tests {{ if {n}() != tt.want "
            "{ t.Fail() } } }\n\n"
            for n in ("One", "Two")
        )
    )
    assert rewritten(text, "TestOne").changed == ()
    alone = text.replace("Two() != tt.want", "Two() != 1").replace("tests { if Two", "o { if Two")
    assert [one.original for one in rewritten(alone, "TestOne").changed] == ["8001"]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("number", [127, 255, 32767, 65535, 2**31 - 1, 2**63 - 1])
def test_changed_number_stays_in_its_type(number: int, seed: int):
    (change,) = rewritten(f"if f() != {number} " + FAIL, seed=seed).changed
    assert int(change.replacement) < number


@pytest.mark.parametrize("seed", range(20))
def test_verbs_and_escapes_of_a_text_stay(seed: int):
    found = rewritten(r'if f() != "%d\n\x41 pears" ' + FAIL, seed=seed)
    assert r'"%d\n\x41 ' in found.source


def test_comments_are_emptied_except_those_that_tools_read():
    text = "//go:build linux\n\npackage calc\n\n// wants 8001\nfunc TestIt(t *testing.T) {\n}\n"
    ids = [f"{FILE}::TestIt"]
    found = ForeignTests(GoTests()).rewrite_tests(text, FILE, [], Random(1), listed=ids)
    assert found.source == text.replace("// wants 8001", "//")


def test_function_that_passed_in_spite_of_a_change_gets_an_assertion():
    found = rewritten("if f() != 8001 " + FAIL, uncertain={"TestIt"})
    assert found.changed == ()
    assert "!= 8001" in found.source
    assert [one.fails for one in found.weakly_controlled] == [True]
