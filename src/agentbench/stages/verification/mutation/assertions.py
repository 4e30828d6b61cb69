"""The expected values of a test function, found in everything that asserts."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from agentbench.stages.verification.mutation.changes import Distance
from agentbench.stages.verification.mutation.comparisons import asserted, compared, equal
from agentbench.stages.verification.mutation.expected import ExpectedValue
from agentbench.stages.verification.mutation.flow import statements
from agentbench.stages.verification.mutation.leaves import Reader
from agentbench.stages.verification.mutation.names import FunctionNode, name_of
from agentbench.stages.verification.mutation.values import NotConstantError

Sites = Iterator[list[ExpectedValue]]

_EQUAL = frozenset(
    [
        "assertEqual",
        "assertEquals",
        "assertListEqual",
        "assertTupleEqual",
        "assertSetEqual",
        "assertDictEqual",
        "assertSequenceEqual",
        "assertMultiLineEqual",
        "assertCountEqual",
        "assert_equal",
        "assert_array_equal",
        "eq_",
    ]
)
_ALMOST: Mapping[str, int] = {
    "assertAlmostEqual": 7,
    "assert_almost_equal": 7,
    "assert_array_almost_equal": 6,
}
_COMPARED: Mapping[str, type[ast.cmpop]] = {
    "assertIn": ast.In,
    "assertIs": ast.Is,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
}
_CALLED = frozenset(
    [
        "assert_called_with",
        "assert_called_once_with",
        "assert_any_call",
        "assert_has_calls",
        "assert_awaited_with",
        "assert_awaited_once_with",
        "assert_any_await",
        "assert_has_awaits",
    ]
)
_RAISES = frozenset(
    ["raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns", "assertWarnsRegex"]
)
_CALLS_PLAINLY = 1
"""How many positional arguments these have when they are not handed a function to call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Helper:
    """A function of the same file that asserts for its callers."""

    node: FunctionNode
    bound: bool
    """Whether it is a method, whose first parameter is not among its arguments."""


def expected_in(
    reader: Reader, function: FunctionNode, helpers: Mapping[str, Helper]
) -> list[ExpectedValue]:
    """The expected values of a test function."""
    found: list[ExpectedValue] = []
    for number, site in enumerate(_sites(reader, function, helpers)):
        found += [replace(value, site=number) for value in site]
    return found


def _sites(reader: Reader, function: FunctionNode, helpers: Mapping[str, Helper]) -> Sites:
    for statement, doubt in statements(function.body):
        match statement:
            case ast.Assert(test=test):
                yield from asserted(reader, test, doubt)
            case (
                ast.Expr(value=ast.Call() as call)
                | ast.Expr(value=ast.Await(value=ast.Call() as call))
            ):
                yield from _called(reader, call, doubt)
                yield from _helped(reader, call, doubt, helpers)
            case ast.With(items=items) | ast.AsyncWith(items=items):
                for item in items:
                    if isinstance(item.context_expr, ast.Call):
                        yield from _raised(reader, item.context_expr, doubt)
            case _:
                pass


def _called(reader: Reader, call: ast.Call, doubt: int) -> Sites:
    name = name_of(call.func)
    if name in _CALLED:
        for node in (*call.args, *(keyword.value for keyword in call.keywords)):
            yield reader.leaves(node, doubt)
    elif name in _RAISES:
        yield from _raised(reader, call, doubt)
    elif len(call.args) > 1:
        yield _of_two(reader, call, doubt)


def _of_two(reader: Reader, call: ast.Call, doubt: int) -> list[ExpectedValue]:
    name, (one, other) = name_of(call.func), call.args[:2]
    if name in _EQUAL:
        return equal(reader, (one, other), doubt)
    if name in _COMPARED:
        return compared(reader, (one, other), _COMPARED[name](), doubt)
    if name == "assertRegex":
        return reader.patterns(other, doubt)
    distance = _almost(reader, call)
    return equal(reader, (one, other), doubt, distance) if distance is not None else []


def _almost(reader: Reader, call: ast.Call) -> Distance | None:
    """How near an assertion of closeness wants two values to be; `None` if it is none."""
    name = name_of(call.func)
    if name == "assert_allclose":
        return reader.tolerance(call, {"rtol": 1e-7, "atol": 0.0})
    if name not in _ALMOST:
        return None
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    third = call.args[2] if len(call.args) > 2 else ast.Constant(_ALMOST[name])
    places = named.get("delta", named.get("places", named.get("decimal", third)))
    try:
        value = reader.value_of(places)
    except NotConstantError:
        return None
    if not isinstance(value, int | float):
        return None
    return Distance(absolute=value if "delta" in named else 1.5 * 10**-value)


def _raised(reader: Reader, call: ast.Call, doubt: int) -> Sites:
    name = name_of(call.func)
    if name not in _RAISES or not call.args:
        return
    yield reader.errors(call.args[0], doubt)
    if name.endswith("Regex") and len(call.args) > _CALLS_PLAINLY:
        yield reader.patterns(call.args[1], doubt)
    for keyword in call.keywords:
        if keyword.arg == "match" and len(call.args) == _CALLS_PLAINLY:
            yield reader.patterns(keyword.value, doubt)


def _helped(reader: Reader, call: ast.Call, doubt: int, helpers: Mapping[str, Helper]) -> Sites:
    helper = helpers.get(name_of(call.func))
    if helper is None or isinstance(call.func, ast.Attribute) != helper.bound:
        return
    parameters = [argument.arg for argument in helper.node.args.args[helper.bound :]]
    given = dict(zip(parameters, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    for statement, inner in statements(helper.node.body):
        test = statement.test if isinstance(statement, ast.Assert) else None
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq):
            sides = test.left, test.comparators[0]
            yield _passed_on(reader, sides, given, doubt + inner + 1)


def _passed_on(
    reader: Reader,
    sides: tuple[ast.expr, ast.expr],
    given: Mapping[str, ast.expr],
    doubt: int,
) -> list[ExpectedValue]:
    left, right = (given.get(side.id) if isinstance(side, ast.Name) else None for side in sides)
    if left is not None and right is not None:
        return equal(reader, (left, right), doubt)
    only = left if left is not None else right
    return reader.leaves(only, doubt) if only is not None else []
