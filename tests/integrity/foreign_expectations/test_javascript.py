"""What is changed in tests in JavaScript and TypeScript, by the shapes of their assertions."""

from random import Random

import pytest

from agentbench.integrity.foreign_expectations.engine import ForeignTests
from agentbench.integrity.foreign_expectations.javascript import _TSX, JavaScriptTests
from agentbench.integrity.foreign_expectations.syntax import parse
from agentbench.integrity.records import RewrittenTestFile

FILE = "test/sum.test.ts"
TESTS = ForeignTests(JavaScriptTests())


def rewritten(text: str, *names: str, seed: int = 1, uncertain=()) -> RewrittenTestFile:
    """The file in which these tests expect other values."""
    ids = [f"{FILE}::{name}" for name in names]
    found = TESTS.rewrite_tests(text, FILE, ids, Random(seed), uncertain, listed=ids)
    assert not parse(text, FILE, _TSX).root.has_error, text
    assert not parse(found.source, FILE, _TSX).root.has_error, found.source
    return found


def in_test(body: str, **more) -> RewrittenTestFile:
    """The file with a test `it` of this body."""
    return rewritten(f"test('it', async (t) => {{\n{body}\n}});\n", "it", **more)


CHANGED = {
    "expect(f()).toBe(8001)": "8001",
    "expect(f()).toBe(-8001)": "8001",
    "expect(f()).toBe(8001n)": "8001",
    "expect(f()).toBe(0x1f41)": "8001",
    "expect(f()).toEqual('pears')": '"pears"',
    "expect(f()).toEqual(`pears`)": '"pears"',
    "expect(f()).toStrictEqual([8001])": "8001",
    "expect(f()).toMatchObject({ a: { b: 8001 } })": "8001",
    "expect(f()).toEqual(expect.objectContaining({ a: 8001 }))": "8001",
    "expect(f()).toContain('pears')": '"pears"',
    "expect(f()).toHaveLength(5)": "5",
    "expect(f()).toBeCloseTo(2.5, 3)": "2.5",
    "expect(f()).toHaveProperty('a', 8001)": "8001",
    "expect(f()).toMatch(/no pears/)": '"no pears"',
    "expect(() => f()).toThrow('no pears')": '"no pears"',
    "expect(() => f()).toThrow(TypeError)": '"TypeError"',
    "expect(() => f()).toThrow(new Error('no pears'))": '"no pears"',
    "expect(f).toHaveBeenCalledWith('pears')": '"pears"',
    "expect(f).toHaveBeenCalledTimes(5)": "5",
    "expect(f()).toMatchInlineSnapshot(`8001`)": '"8001"',
    "expect(f()).toMatchInlineSnapshot({ at: expect.any(Date) }, `8001`)": '"8001"',
    "expect(f).toThrowErrorMatchingInlineSnapshot(`no pears`)": '"no pears"',
    "await expect(f()).resolves.toBe(8001)": "8001",
    "await expect(f()).rejects.toThrow('no pears')": '"no pears"',
    "return expect(f()).resolves.toBe(8001)": "8001",
    "expect(f() as number).toBe(8001 as number)": "8001",
    "const want = 8001\nexpect(f()).toBe(want)": "8001",
    "const want = { a: 8001 }\nexpect(f()).toEqual(want)": "8001",
    "expect(f()).to.equal(8001)": "8001",
    "expect(f()).to.be.an('array').that.deep.equals([8001])": "8001",
    "expect(f()).to.eql({ a: 8001 })": "8001",
    "expect(f()).to.deep.include({ a: 8001 })": "8001",
    "expect(f()).to.have.lengthOf(5)": "5",
    "expect(f()).to.have.property('a', 8001)": "8001",
    "expect(f).to.throw('no pears')": '"no pears"',
    "f().should.equal(8001)": "8001",
    "f().should.be.exactly(8001)": "8001",
    "assert.equal(f(), 8001)": "8001",
    "assert.strictEqual(f(), 8001, 'sum')": "8001",
    "assert.deepStrictEqual(f(), { a: [8001] })": "8001",
    "assert.match(f(), /no pears/)": '"no pears"',
    "assert.throws(() => f(), /no pears/)": '"no pears"',
    "assert.throws(() => f(), { message: 'no pears' })": '"no pears"',
    "await assert.rejects(f(), { code: 'pears' })": '"pears"',
    "assert(f() === 8001)": "8001",
    "assert.ok(f() === 8001)": "8001",
    "deepStrictEqual(f(), [8001])": "8001",
    "t.is(f(), 8001)": "8001",
    "t.deepEqual(f(), [8001])": "8001",
    "if (f() !== 8001) throw new Error('sum')": "8001",
    "expect(f()).toEqual(new Date(8001))": "8001",
    "expect(f()).toBe(`${g()} pears`)": '" pears"',
}


@pytest.mark.parametrize("body", CHANGED)
def test_value_that_is_compared_is_changed(body: str):
    found = in_test(body)
    assert [one.original for one in found.changed] == [CHANGED[body]]
    assert found.changed[0].replacement != CHANGED[body]
    assert found.changed[0].doubt < 3
    assert found.weakly_controlled == ()


WEAK = [
    "expect(f()).not.toBe(8001)",
    "expect(f()).to.not.equal(8001)",
    "f().should.not.equal(8001)",
    "assert.notEqual(f(), 8001)",
    "expect(f(8001)).toBeTruthy()",
    "expect(f()).toBeGreaterThan(8001)",
    "expect(f()).toBe(null)",
    "expect(f()).toMatchSnapshot('pears')",
    "expect(f()).toMatchInlineSnapshot()",
    "expect(() => f()).toThrow(Error)",
    "expect(f()).toEqual(require('./golden.json'))",
    "const n = 8001\nexpect(f(n)).toBe(n)",
    "assert.throws(() => f(8001), 'a message')",
    "expect(f()).toBe(WANT)",
]


@pytest.mark.parametrize("body", WEAK)
def test_test_without_a_certain_value_gets_a_failing_assertion(body: str):
    found = in_test(body)
    assert found.changed == ()
    assert [one.fails for one in found.weakly_controlled] == [True]
    assert "throw new Error(" in found.source


def test_only_truths_are_changed_last():
    assert in_test("expect(f()).toBe(true)").changed[0].kind == "truth"
    for seed in range(10):
        body = "expect(f()).toBe(true)\nexpect(g()).toEqual({ a: true, b: 8001 })"
        assert in_test(body, seed=seed).changed[0].original == "8001"


@pytest.mark.parametrize(
    "body",
    [
        "if (ok()) { expect(f()).toBe(8001) }",
        "if (!ok()) return\nexpect(f()).toBe(8001)",
        "try { f() } catch (error) { expect(error.message).toBe('no pears') }",
        "ok() ? expect(f()).toBe(8001) : g()",
    ],
)
def test_value_in_a_branch_needs_the_reference_solution(body: str):
    assert [one.doubt for one in in_test(body).changed] == [3]


TABLES = [
    "test.each([[1, 2002], [3, 4004]])('sum %i', (n, want) => { expect(f(n)).toBe(want) })",
    "test.each([{n: 1, want: 2002}, {n: 3, want: 4004}])('sum $n', ({n, want}) => "
    "{ expect(f(n)).toBe(want) })",
    "it.each`n | want\n${1} | ${2002}\n${3} | ${4004}\n`('sum $n', ({n, want}) => "
    "{ expect(f(n)).toBe(want) })",
    "test.for([[1, 2002], [3, 4004]])('sum %i', ([n, want]) => { expect(f(n)).toBe(want) })",
    "for (const [n, want] of [[1, 2002], [3, 4004]]) test(`sum ${n}`, () => "
    "{ assert.equal(f(n), want) })",
    "const cases = [{n: 1, want: 2002}, {n: 3, want: 4004}];\ncases.forEach((one) => "
    "{ it(`sum ${one.n}`, () => { assert.equal(f(one.n), one.want) }) })",
    "describe.each([[1, 2002], [3, 4004]])('sum', (n, want) => { it(`${n}`, () => "
    "{ expect(f(n)).toBe(want) }) })",
]


@pytest.mark.parametrize("text", TABLES)
def test_row_of_a_listed_test_is_changed(text: str):
    names = ["sum > 1", "sum > 3"] if "describe" in text else ["sum 1", "sum 3"]
    for name, original in zip(names, ["2002", "4004"], strict=True):
        assert [one.original for one in rewritten(text, name).changed] == [original]
    both = rewritten(text, *names)
    assert sorted(one.original for one in both.changed) == ["2002", "4004"]
    assert len({one.function for one in both.changed}) == 1


def test_row_that_cannot_be_told_is_weak():
    text = "test.each(load())('sum %i', (n, want) => { expect(f(n)).toBe(want) })"
    found = rewritten(text, "sum 1")
    assert found.changed == ()
    assert [one.fails for one in found.weakly_controlled] == [True]


def test_tests_of_one_title_are_told_by_their_order():
    text = (
        "it('sum', () => { expect(f()).toBe(2002) })\nit('sum', () => { expect(f()).toBe(4004) })"
    )
    assert [one.original for one in rewritten(text, "sum").changed] == ["2002"]
    assert [one.original for one in rewritten(text, "sum #2").changed] == ["4004"]


@pytest.mark.parametrize(
    "text",
    [
        "describe('a', () => { describe(`b`, function () { it('c', DONE) }) })",
        "describe.only('a', () => { describe.skip('b', () => { it.concurrent('c', DONE) }) })",
        "suite('a', () => { context('b', () => { specify('c', { timeout: 5 }, DONE) }) })",
        "test('a', async (t) => { await t.test('b', async (t) => { await t.test('c', DONE) }) })",
    ],
)
def test_titles_are_joined_to_the_id(text: str):
    text = text.replace("DONE", "() => { expect(f()).toBe(8001) }")
    assert [one.original for one in rewritten(text, "a > b > c").changed] == ["8001"]
    assert rewritten(text, "a > c").changed == ()


def test_test_that_is_expected_to_fail_is_not_changed():
    assert rewritten("test.failing('it', () => { expect(f()).toBe(8001) })", "it").changed == ()


def test_subtest_makes_the_listed_test_around_it_fail():
    text = (
        "test('a', async (t) => { assert.equal(f(), 2002); "
        "await t.test('b', () => { assert.equal(f(), 4004) }) })"
    )
    found = rewritten(text, "a", "a > b")
    assert [one.original for one in found.changed] == ["4004"]
    assert TESTS.functions_by_tests(text, FILE, [f"{FILE}::a", f"{FILE}::a > b"]) == {
        "a": (f"{FILE}::a", f"{FILE}::a > b")
    }


def test_value_that_two_tests_share_is_not_changed():
    text = "const want = 8001\n" + "".join(
        f"it('{name}', () => {{ expect(f()).toBe(want) }})\n" for name in "ab"
    )
    assert rewritten(text, "a").changed == ()


def test_arguments_of_a_helper_are_followed_to_its_comparison():
    text = (
        "function check(text, want) { expect(f(text)).toBe(want) }\n"
        "it('sum', () => { check('pears', 8001) })"
    )
    assert [one.original for one in rewritten(text, "sum").changed] == ["8001"]


def test_comments_are_emptied_except_those_that_tools_read():
    text = "// @vitest-environment node\n// wants 8001\n/* 8001\n*/\nit('sum', () => {})\n"
    found = TESTS.rewrite_tests(text, FILE, [], Random(1), listed=[f"{FILE}::sum"])
    assert found.source == text.replace("// wants 8001", "//").replace("/* 8001\n*/", "/*\n*/")


def test_types_of_flow_and_markup_can_be_read():
    text = "it('sum', () => { const n: number = f(<p>a</p>); expect(n).toBe(8001) })"
    ids = ["sum.test.js::sum"]
    found = TESTS.rewrite_tests(text, "sum.test.js", ids, Random(1), listed=ids)
    assert [one.original for one in found.changed] == ["8001"]
