"""Reads the assertions of a function: statements, methods of unittest, and expected exceptions."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentbench.integrity.expectation_changes.assertions import (
    COMPARISONS,
    EQUALITIES,
    PLACES,
    QUERY_SETS,
    WARNING,
    is_named_equality,
)
from agentbench.integrity.sealing.checks import (
    Comparison,
    LikeReference,
    LineMatch,
    LineOrder,
    PageText,
    Raised,
    Recorded,
    Removed,
    SealedCheck,
)
from agentbench.integrity.sealing.conditions import ConditionReader
from agentbench.python_source import python_syntax, scopes
from agentbench.python_source.constants import evaluate
from agentbench.python_source.python_syntax import dotted_name, name_of
from agentbench.python_source.scopes import RAISING

_UNORDERED = frozenset(["assertCountEqual", "assertItemsEqual"])
_PAGES = {
    "assertContains": ("response", "text", "count", "status_code", "msg_prefix", "html"),
    "assertNotContains": ("response", "text", "status_code", "msg_prefix", "html"),
}
_SINGLE: Mapping[str, type[ast.cmpop]] = {"assertIsNone": ast.Is, "assertIsNotNone": ast.IsNot}
# Assertions of mocks, and the attributes with the calls that they look at.
_CALLS_OF_MOCKS = {
    "assert_called_with": "call_args", "assert_called_once_with": "call_args",
    "assert_awaited_with": "await_args", "assert_awaited_once_with": "await_args",
    "assert_any_call": "call_args_list", "assert_any_await": "await_args_list",
    "assert_has_calls": "mock_calls", "assert_has_awaits": "await_args_list",
}  # fmt: skip
_COUNTS_OF_MOCKS = {
    "assert_called_once": ("call_count", 1),
    "assert_not_called": ("call_count", 0),
    "assert_awaited_once": ("await_count", 1),
    "assert_not_awaited": ("await_count", 0),
}
# Assertions of pytest's own plugin for testing plugins, and the methods with their values.
_COUNTS = {"assert_outcomes": "parseoutcomes", "assertoutcome": "countoutcomes"}
_COUNTED = ("passed", "skipped", "failed", "errors", "xpassed", "xfailed")
_COUNTED_IF_GIVEN = ("warnings", "deselected")
_COUNT = {f"{one}s": f"n.get('{one}s', n.get('{one}', 0))" for one in ("error", "warning")}
_PLURALS = {"error": "errors", "warning": "warnings"}  # of other versions of pytest
_ORDERS = {
    "match_lines": LineOrder.AS_GIVEN,
    "match_lines_random": LineOrder.ANY,
    "no_match_line": LineOrder.NOWHERE,
}
# Assertions that stay, since they have no value that must be hidden.
_HARMLESS = frozenset([
    "assertLogs", "assertNoLogs", "assertNumQueries", "assert_called", "assert_awaited"
])  # fmt: skip
_WARNING = WARNING | {"deprecated_call"}
_DEPRECATED = ast.Tuple([
    ast.Name(name, ast.Load())
    for name in ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")
], ast.Load())  # fmt: skip
RECORDER = "agentbench_recorder"


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedStatement:
    """The checks that replace a statement."""

    checks: tuple[SealedCheck, ...]
    unsealed: str | None = None  # why they do not control the code under test


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedError:
    """An expected exception or warning that was taken out of a test."""

    check: Raised
    tokens: list[ast.expr]  # the names in it that have several values
    arguments: list[ast.expr]  # the others of the call
    keywords: list[ast.keyword]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementReader:
    """Reads the assertions of one function."""

    conditions: ConditionReader
    helpers: frozenset[str]  # functions of the file, whose own assertions are sealed
    caught: frozenset[str]  # names of expected exceptions that the function has caught

    def read(self, statement: ast.stmt) -> SealedStatement | None:
        """The checks of an assertion; None if the statement is not an assertion."""
        match statement:
            case ast.Assert(test=test):
                return SealedStatement(checks=tuple(self.conditions.checks(test)))
            case (
                ast.Expr(value=ast.Call() as call)
                | ast.Expr(value=ast.Await(value=ast.Call() as call))
            ):
                return self._method(call)
            case _:
                return None

    def expected_error(self, call: ast.Call) -> "ExpectedError | None":
        """The check of an expected exception or warning; None if the call expects none."""
        name = name_of(call.func)
        if name not in RAISING | _WARNING or scopes.has_starred(call.args):
            return None
        named: list[ast.expr] = []
        arguments, keywords = list(call.args), {k.arg: k.value for k in call.keywords}
        if name == "deprecated_call":
            types: ast.expr | None = _DEPRECATED
        else:
            types = arguments.pop(0) if arguments else keywords.pop("expected_exception", None)
        has_pattern = name.endswith(("Regex", "Message"))
        pattern = arguments.pop(0) if has_pattern and arguments else keywords.pop("match", None)
        for gone in ("msg", "message", "check"):
            keywords.pop(gone, None)
        if None in keywords:
            return None
        if types is not None and not self.conditions.can_be_removed(types):
            return None
        removed = [
            None if node is None else self.conditions.removed(node, 0, named)
            for node in (types, pattern)
        ]
        check = Raised(
            types=removed[0],
            pattern=removed[1],
            is_message=name.endswith("Message"),
            is_warning=name in _WARNING,
        )
        rest = [ast.keyword(arg=arg, value=value) for arg, value in keywords.items()]
        return ExpectedError(check=check, tokens=named, arguments=arguments, keywords=rest)

    def expected_count(self, call: ast.Call) -> SealedCheck | None:
        """The check of the number of queries that a test expects; None if it expects none."""
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="self"), attr="assertNumQueries" as name),
                args=[count, *_],
            ) if name not in self.helpers and isinstance(evaluate(count), int):
                check = Comparison(operands=(Recorded(0), Removed(count)), ops=(ast.Eq,))
                return SealedCheck(check=check)
            case _:
                return None

    def _method(self, call: ast.Call) -> SealedStatement | None:
        name, arguments = name_of(call.func), call.args
        if name in self.helpers or name in _HARMLESS or name in RAISING | _WARNING:
            return None
        if name in scopes.LINE_MATCHERS and isinstance(call.func, ast.Attribute):
            return self._output_lines(call, name, call.func.value)
        if scopes.has_starred(arguments) and name not in _CALLS_OF_MOCKS:
            return self._unknown(call) if name.startswith("assert") else None
        checks = self._known_method(call, name, arguments)
        if checks is not None:
            return SealedStatement(checks=tuple(checks))
        return self._unknown(call) if name.startswith("assert") else None

    def _known_method(
        self, call: ast.Call, name: str, arguments: Sequence[ast.expr]
    ) -> list[SealedCheck] | None:
        read = self.conditions
        match arguments:
            case [one, other, *_] if name in EQUALITIES | _UNORDERED:
                return [read.compared([one, other], [ast.Eq], unordered=name in _UNORDERED)]
            case [_, _, *_] if name in QUERY_SETS:
                return [self._query_set(call)]
            case [_, *_] if name in _PAGES:
                return self._page(call, name)
            case [one, other, *_] if name in COMPARISONS:
                return [read.compared([one, other], [COMPARISONS[name]])]
            case [one, *_] if name in _SINGLE:
                return [read.compared([one, ast.Constant(None)], [_SINGLE[name]])]
            case [one, *_] if name in ("assertTrue", "assertFalse"):
                return list(read.checks(one, negated=name == "assertFalse"))
            case [one, other, *_] if name in ("assertIsInstance", "assertNotIsInstance"):
                test = ast.Call(
                    func=ast.Name("isinstance", ast.Load()), args=[one, other], keywords=[]
                )
                return [read.truth(test, negated="Not" in name, likely=True)]
            case [text, pattern, *_] if name in ("assertRegex", "assertNotRegex"):
                return [read.matched(pattern, text, negated="Not" in name)]
            case [one, other, *_] if name in PLACES or name == "assert_allclose":
                close = self._close(call, name, one, other)
                return None if close is None else [close]
            case [pattern] if name == "match" and isinstance(call.func, ast.Attribute):
                # Of pytest's ExceptionInfo: an assertion without a comparison.
                if name_of(call.func.value) not in self.caught:
                    return None
                value = ast.Attribute(value=call.func.value, attr="value", ctx=ast.Load())
                text = ast.Call(func=ast.Name("str", ast.Load()), args=[value], keywords=[])
                return [read.matched(pattern, text, negated=False)]
            case _:
                return self._mock(call, name)

    def _query_set(self, call: ast.Call) -> SealedCheck:
        given = dict(zip(("qs", "values", "transform", "ordered"), call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        found, transform, ordered = given["qs"], given.get("transform"), given.get("ordered")
        if transform is not None and evaluate(transform) is not None:
            mapped = ast.Call(ast.Name("map", ast.Load()), [transform, found], [])
            found = ast.Call(ast.Name("list", ast.Load()), [mapped], [])
        is_unordered = ordered is not None and evaluate(ordered) is False
        return self.conditions.compared([found, given["values"]], [ast.Eq], unordered=is_unordered)

    # `assertContains(response, text, count=None, status_code=200, html=False)` of Django.
    def _page(self, call: ast.Call, name: str) -> list[SealedCheck] | None:
        given = dict(zip(_PAGES[name], call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        read, text, count = self.conditions, given.get("text"), given.get("count")
        status = given.get("status_code", ast.Constant(200))
        page = recorder_call("page", given["response"])
        is_plain = "html" not in given or evaluate(given["html"]) is False
        expected = [one for one in (status, text, count) if one is not None]
        if text is None or isinstance(evaluate(text), bytes):
            return None
        if not is_plain or not all(map(read.can_be_removed, expected)):
            # Only the status proves too little to be compared with the reference's.
            content = ast.Subscript(page, ast.Constant(1), ast.Load())
            return [SealedCheck(check=LikeReference(indices=(0,)), recorded=(content,))]
        named: list[ast.expr] = []
        is_counted = count is not None and evaluate(count) is not None
        check = PageText(
            status=read.removed(status, 1, named),
            text=read.removed(text, 1, named),
            count=read.removed(count, 1, named) if count is not None and is_counted else None,
            negated=name == "assertNotContains",
        )
        return [SealedCheck(check=check, recorded=(page, *named))]

    # `result.stdout.fnmatch_lines(patterns)` and the like, of pytest's LineMatcher.
    def _output_lines(self, call: ast.Call, name: str, output: ast.expr) -> SealedStatement | None:
        read, given = self.conditions, {k.arg: evaluate(k.value) for k in call.keywords}
        consecutive = given.pop("consecutive", False)
        if name_of(output) not in ("stdout", "stderr") or len(call.args) != 1 or given:
            return None  # a test of the matcher itself, most likely
        lines = ast.Attribute(value=output, attr="lines", ctx=ast.Load())
        (patterns,) = call.args
        if not read.can_be_removed(patterns) or not isinstance(consecutive, bool):
            check = LikeReference(indices=(0,))
            return SealedStatement(
                checks=(SealedCheck(check=check, recorded=(lines,)),),
                unsealed=f"line {call.lineno}: the test computes the expected lines",
            )
        named: list[ast.expr] = []
        order = _ORDERS[name.replace("fnmatch", "match").replace("re_", "")]
        found = LineMatch(
            index=0,
            patterns=read.removed(patterns, 1, named),
            order=LineOrder.CONSECUTIVE if consecutive else order,
            is_regex="re_" in name,
        )
        return SealedStatement(checks=(SealedCheck(check=found, recorded=(lines, *named)),))

    # `result.assert_outcomes(passed=1)`: the counts that the call does not give are 0.
    def _counts(self, call: ast.Call, output: ast.expr, method: str) -> SealedCheck | None:
        names = _COUNTED[: 3 if method == "countoutcomes" else None]
        given = dict(zip(names, call.args, strict=False))
        given |= {_PLURALS.get(k.arg, k.arg): k.value for k in call.keywords if k.arg}
        names = (*names, *(name for name in _COUNTED_IF_GIVEN if name in given))
        zero = ast.Constant(0)
        expected = ast.List([given.pop(name, zero) for name in names], ast.Load())
        if given or len(call.args) > len(names) or not self.conditions.can_be_removed(expected):
            return None
        found = ast.Call(ast.Attribute(output, method, ast.Load()), [], [])
        if method == "parseoutcomes":
            counts = ", ".join(_COUNT.get(name, f"n.get({name!r}, 0)") for name in names)
            (statement,) = python_syntax.parse(f"lambda n: [{counts}]").body
            assert isinstance(statement, ast.Expr)
            found = ast.Call(statement.value, [found], [])
        return self.conditions.compared([found, expected], [ast.Eq])

    def _close(
        self, call: ast.Call, name: str, one: ast.expr, other: ast.expr
    ) -> SealedCheck | None:
        given = {keyword.arg: evaluate(keyword.value) for keyword in call.keywords}
        if name == "assert_allclose":
            relative, absolute = given.get("rtol", 1e-7), given.get("atol", 0.0)
        elif "delta" in given:
            relative, absolute = 0.0, given["delta"]
        else:
            third = evaluate(call.args[2]) if len(call.args) > 2 else PLACES[name]
            places = given.get("places", given.get("decimal", third))
            relative = 0.0
            absolute = 0.5 * 10.0**-places if isinstance(places, int) else None
        if not isinstance(relative, int | float) or not isinstance(absolute, int | float):
            return None
        return self.conditions.close(one, other, relative, absolute)

    def _mock(self, call: ast.Call, name: str) -> list[SealedCheck] | None:
        if not isinstance(call.func, ast.Attribute):
            return None
        mock, read = call.func.value, self.conditions

        def attribute(attr: str) -> ast.Attribute:
            return ast.Attribute(value=mock, attr=attr, ctx=ast.Load())

        if name in _COUNTS_OF_MOCKS:
            attr, count = _COUNTS_OF_MOCKS[name]
            return [read.compared([attribute(attr), ast.Constant(count)], [ast.Eq])]
        if name not in _CALLS_OF_MOCKS:
            return None
        found = attribute(_CALLS_OF_MOCKS[name])
        if "_has_" in name:
            given = dict(zip(("calls", "any_order"), call.args, strict=False))
            given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
            is_unordered = "any_order" in given and evaluate(given["any_order"]) is not False
            sides = [given.get("calls", ast.List([], ast.Load())), found]
            return [read.compared(sides, [ast.In], unordered=is_unordered)]
        keys: list[ast.expr | None] = [
            None if k.arg is None else ast.Constant(k.arg) for k in call.keywords
        ]
        named = ast.Dict(keys=keys, values=[keyword.value for keyword in call.keywords])
        expected = ast.Tuple([ast.Tuple(call.args, ast.Load()), named], ast.Load())
        if "_any_" in name:
            return [read.compared([expected, found], [ast.In])]
        checks = [read.compared([found, expected], [ast.Eq])]
        if "once" in name:
            counted = [
                attribute(f"{'await' if 'await' in name else 'call'}_count"),
                ast.Constant(1),
            ]
            checks.append(read.compared(counted, [ast.Eq]))
        return checks

    # An assertion that the host does not know: its values must equal the reference's.
    def _unknown(self, call: ast.Call) -> SealedStatement:
        name = name_of(call.func)
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if isinstance(call.func, ast.Attribute) and self._may_be_tested(call.func.value):
            given.insert(0, call.func.value)
        if name in _COUNTS and isinstance(call.func, ast.Attribute):
            counted = self._counts(call, call.func.value, _COUNTS[name])
            if counted is not None:
                return SealedStatement(checks=(counted,))
            parsed = ast.Attribute(value=call.func.value, attr=_COUNTS[name], ctx=ast.Load())
            given = [ast.Call(func=parsed, args=[], keywords=[])]
        recorded = tuple(
            node.value if isinstance(node, ast.Starred) else node
            for node in given
            if not self.conditions.can_be_removed(node)
        )
        indices = tuple(range(len(recorded)))
        check = LikeReference(indices=indices, is_equality=is_named_equality(name))
        return SealedStatement(
            checks=(SealedCheck(check=check, recorded=recorded),),
            unsealed=None if recorded else f"the host cannot evaluate {name}",
        )

    # Whether a method may assert something about its object: no test case, no module.
    def _may_be_tested(self, receiver: ast.expr) -> bool:
        dotted = dotted_name(receiver)
        is_imported = dotted.partition(".")[0] in self.conditions.levels.names.imported
        return dotted not in ("self", "cls") and not is_imported


def recorder_call(name: str, *arguments: ast.expr | int) -> ast.Call:
    """A call of a function of the recorder, which a sealed test need not import."""
    module = ast.Call(
        func=ast.Name("__import__", ast.Load()), args=[ast.Constant(RECORDER)], keywords=[]
    )
    func = ast.Attribute(value=module, attr=name, ctx=ast.Load())
    args = [ast.Constant(one) if isinstance(one, int) else one for one in arguments]
    return ast.Call(func=func, args=args, keywords=[])


def caught_names(function: scopes.FunctionNode) -> frozenset[str]:
    """The names that a function gives to the exceptions that it expects."""
    found: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.withitem(
                context_expr=ast.Call(func=func), optional_vars=ast.Name(id=name)
            ) if name_of(func) in RAISING:
                found.add(name)
            case _:
                pass
    return frozenset(found)


def has_assertions(function: scopes.FunctionNode) -> bool:
    """Whether a function asserts something."""
    return any(
        isinstance(node, ast.Assert)
        or (
            isinstance(node, ast.Call)
            and (name := name_of(node.func))
            and (name.startswith("assert") or name in scopes.LINE_MATCHERS)
        )
        for node in ast.walk(function)
    )
