"""Finds the expected values of a test function; in a comparison, those of the expected side."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from agentbench.integrity.expectation_changes.expected_literals import LiteralReader
from agentbench.integrity.expectation_changes.expected_values import ExpectedValue
from agentbench.integrity.expectation_changes.other_values import FAR, NEAR, Distance
from agentbench.python_source import scopes
from agentbench.python_source.functions import FoundFunction
from agentbench.python_source.python_syntax import name_of

_ARGUMENTS = 2  # the doubt about a call's arguments; others may give the same result
_CLOSE = {
    "isclose": {"rel_tol": 1e-5, "abs_tol": 1e-8},
    "allclose": {"rtol": 1e-5, "atol": 1e-8},
}
Sides = tuple[ast.expr, ast.expr]  # of a comparison
Sites = Iterator[list[ExpectedValue]]
EQUALITIES = frozenset([
    "assertEqual", "assertEquals", "assertListEqual", "assertTupleEqual", "assertSetEqual",
    "assertDictEqual", "assertSequenceEqual", "assertMultiLineEqual", "assert_equal", "eq_",
    "assert_array_equal"
])  # fmt: skip
"""Assertions that compare by `==`."""
QUERY_SETS = frozenset(["assertQuerySetEqual", "assertQuerysetEqual"])  # of Django
_OTHER_EQUALITIES = frozenset([
    "assertCountEqual", "assertHTMLEqual", "assertXMLEqual", "assertJSONEqual", "assertURLEqual"
])  # fmt: skip
PLACES = {"assertAlmostEqual": 7, "assert_almost_equal": 7, "assert_array_almost_equal": 6}
"""Assertions of closeness, and the decimals that they compare by default."""
COMPARISONS: Mapping[str, type[ast.cmpop]] = {
    "assertNotEqual": ast.NotEq,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
    "assertIs": ast.Is,
    "assertIsNot": ast.IsNot,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
}
_MOCK_METHODS = frozenset([
    "assert_called_with", "assert_called_once_with", "assert_any_call", "assert_has_calls",
    "assert_awaited_with", "assert_awaited_once_with", "assert_any_await", "assert_has_awaits"
])  # fmt: skip
WARNING = frozenset(["warns", "assertWarns", "assertWarnsRegex", "assertWarnsMessage"])
_CALLS_PLAINLY = 1  # the positional arguments of these if they get no function to call
Helpers = Mapping[str, FoundFunction]  # functions of the same file that may have assertions
_EQUAL = re.compile("equal|identical|golden|snapshot")
# Names of assertions that accept other values, too.
_LENIENT = re.compile(
    "almost|approx|close|near|ignor|like|similar|order|sort|element|item|any|not|unequal|less"
    "|greater|len|size|shape|type|html|xml|json|url|sql"
)


def is_named_equality(name: str) -> bool:
    """Whether the name of an assertion or a method says that two values must be equal."""
    return bool(_EQUAL.search(name.lower())) and not _LENIENT.search(name.lower())


def _asserted(reader: LiteralReader, test: ast.expr, doubt: int) -> Sites:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _asserted(reader, value, doubt)
    elif isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        for op, one, other in zip(test.ops, sides, test.comparators, strict=False):
            yield _compared(reader, (one, other), op, doubt)
    elif isinstance(test, ast.Call):
        name = name_of(test.func)
        match test.args:
            case [ast.GeneratorExp(elt=element)] if name == "all":
                yield from _asserted(reader, element, doubt + 1)
            case [one, other, *_] if name in _CLOSE:
                tolerance = reader.tolerance(test, _CLOSE[name])
                if tolerance is not None:
                    yield _equal(reader, (one, other), doubt, tolerance)
            case [text] if name in ("startswith", "endswith"):
                yield reader.literals(text, doubt + 1, FAR)
            case _:
                pass


def _compared(
    reader: LiteralReader, sides: Sides, op: ast.cmpop, doubt: int
) -> list[ExpectedValue]:
    match op:
        case ast.Eq():
            return _equal(reader, sides, doubt)
        case ast.Is():
            known = [side for side in sides if isinstance(side, ast.Constant)]
            singletons = [side for side in known if isinstance(side.value, bool | None)]
            return [value for side in singletons for value in reader.literals(side, doubt)]
        case ast.In():
            left = sides[0]
            is_column = isinstance(left, ast.Name) and left.id in reader.columns
            if is_column or reader.is_constant(left) or isinstance(left, ast.Tuple):
                return reader.literals(left, doubt + 1, FAR)
            return []
        case _:
            return []  # a value that differs from one value differs from another, too


# The values of the constant one of two sides that must be equal.
def _equal(
    reader: LiteralReader, sides: Sides, doubt: int, distance: Distance = NEAR
) -> list[ExpectedValue]:
    left, right = sides
    if reader.is_constant(left) and reader.is_constant(right):
        return []
    on_left = _apart(reader, left, right, doubt, distance)
    on_right = _apart(reader, right, left, doubt, distance)
    if isinstance(left, ast.Call) and not name_of(left.func)[:1].isupper():
        on_left = [value for value in on_left if value.doubt < doubt + _ARGUMENTS]
    least_left = min((value.doubt for value in on_left), default=doubt + 99)
    least_right = min((value.doubt for value in on_right), default=doubt + 99)
    return on_left if least_left < least_right else on_right


# The values of a side, except those that may also change the other side.
def _apart(
    reader: LiteralReader, side: ast.expr, other: ast.expr, doubt: int, distance: Distance
) -> list[ExpectedValue]:
    values = reader.literals(side, doubt, distance)
    if not reader.columns:
        return values
    own = reader.function.origins(side) & reader.columns.keys()
    shared = not own.isdisjoint(scopes.names_in(other))
    extra = scopes.UNCERTAIN if own & reader.function.origins(other) else 0
    within = reader.source.span(side)
    found = []
    for value in values:
        if within.start <= value.span.start <= within.end:
            found.append(value)  # it is used only here
        elif not shared:
            found.append(replace(value, doubt=value.doubt + extra))
    return found


def expected_in(
    reader: LiteralReader, function: scopes.FunctionNode, helpers: Helpers
) -> list[ExpectedValue]:
    """The expected values of a test function."""
    found: list[ExpectedValue] = []
    for number, site in enumerate(_sites(reader, function, helpers)):
        found += [replace(value, site=number) for value in site]
    return found


def _sites(reader: LiteralReader, function: scopes.FunctionNode, helpers: Helpers) -> Sites:
    for statement, doubt in scopes.statements(function.body):
        match statement:
            case ast.Assert(test=test):
                yield from _asserted(reader, test, doubt)
            case (
                ast.Expr(value=ast.Call() as call)
                | ast.Expr(value=ast.Await(value=ast.Call() as call))
            ):
                yield from _called(reader, call, doubt)
                yield from _helped(reader, call, doubt, helpers)
            case ast.With(items=items) | ast.AsyncWith(items=items):
                for item in items:
                    if isinstance(item.context_expr, ast.Call):
                        yield from _called(reader, item.context_expr, doubt)
            case _:
                pass


def _called(reader: LiteralReader, call: ast.Call, doubt: int) -> Sites:
    name = name_of(call.func)
    if name in _MOCK_METHODS:
        for node in (*call.args, *(keyword.value for keyword in call.keywords)):
            yield reader.literals(node, doubt)
    elif name in scopes.RAISING | WARNING and call.args:
        yield reader.errors(call.args[0], doubt)
        if name.endswith("Regex") and len(call.args) > _CALLS_PLAINLY:
            yield reader.patterns(call.args[1], doubt)
        if name.endswith("Message") and len(call.args) > _CALLS_PLAINLY:
            yield reader.literals(call.args[1], doubt, FAR)
        for keyword in call.keywords:
            if keyword.arg == "match" and len(call.args) == _CALLS_PLAINLY:
                yield reader.patterns(keyword.value, doubt)
    elif name == "assertTrue" and call.args:
        yield from _asserted(reader, call.args[0], doubt)
    elif len(call.args) > 1:
        one, other = call.args[:2]
        if name in EQUALITIES | QUERY_SETS | _OTHER_EQUALITIES:
            yield _equal(reader, (one, other), doubt)
        elif name in COMPARISONS:
            yield _compared(reader, (one, other), COMPARISONS[name](), doubt)
        elif name == "assertRegex":
            yield reader.patterns(other, doubt)
        elif (distance := _almost(reader, call)) is not None:
            yield _equal(reader, (one, other), doubt, distance)


def _almost(reader: LiteralReader, call: ast.Call) -> Distance | None:
    name = name_of(call.func)
    if name == "assert_allclose":
        return reader.tolerance(call, {"rtol": 1e-7, "atol": 0.0})
    if name not in PLACES:
        return None
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    third = call.args[2] if len(call.args) > 2 else ast.Constant(PLACES[name])
    precision = named.get("delta", named.get("places", named.get("decimal", third)))
    value = reader.value_of(precision)
    if not isinstance(value, int | float):
        return None
    return Distance(absolute=value if "delta" in named else 1.5 * 10**-value)


def _helped(reader: LiteralReader, call: ast.Call, doubt: int, helpers: Helpers) -> Sites:
    helper = helpers.get(name_of(call.func))
    if helper is None or isinstance(call.func, ast.Attribute) != helper.is_method:
        return
    # Calls of a method omit the first parameter.
    parameters = [argument.arg for argument in helper.node.args.args[helper.is_method :]]
    arguments = dict(zip(parameters, call.args, strict=False))
    arguments |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    for statement, inner in scopes.statements(helper.node.body):
        test = statement.test if isinstance(statement, ast.Assert) else None
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq):
            sides = (test.left, test.comparators[0])
            left, right = (arguments.get(s.id) if isinstance(s, ast.Name) else None for s in sides)
            if left is not None and right is not None:
                yield _equal(reader, (left, right), doubt + inner + 1)
            elif (only := right if left is None else left) is not None:
                yield reader.literals(only, doubt + inner + 1)
