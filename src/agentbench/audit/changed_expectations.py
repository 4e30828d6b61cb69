"""Where a hidden test expects something else than the project's own test of the same name.

Whoever keeps the visible tests passing fails such a test. So the instruction has to name what is
looked at, or give one of the two values.
"""

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass

from agentbench.audit.rule import RuleHit, warning
from agentbench.audit.task_facts import DecidingTestFile, TaskFacts
from agentbench.audit.unstated import ATTRIBUTES_OF_VALUES, NAME
from agentbench.python_source import python_syntax, scopes
from agentbench.python_source.functions import FoundFunction

_LEAST_VALUE = 2  # characters of a value that an instruction has not by chance
_LONGEST_VALUE = 80  # characters that are shown of an expectation
_TELLING_NOTHING = frozenset({"in", "not in", "True", "False", "None"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expectation:
    """What a test expects of an operation: `sinc(x).rewrite(sin)`, `== sin(x)/x`."""

    operation: str  # as `ast.unparse` writes it
    name: str  # of the function, attribute or key that it looks at last
    expected: str
    line: int
    setting: frozenset[str]  # the statements that its variables depend on


def changed_expectations(facts: TaskFacts) -> Iterator[RuleHit]:
    """A right fix that keeps a visible test passing fails the hidden version of it."""
    instruction = facts.task.problem.instruction
    stated = set(NAME.findall(instruction))
    for file in facts.deciding_files:
        for name, function in file.deciding:
            if name not in file.before or file.is_visible(name):
                continue
            for old, new in _changed(file, file.before[name], function):
                if new.name not in stated and not any(
                    _gives(instruction, one.expected) for one in (old, new)
                ):
                    yield warning(
                        f"{file.path}:{new.line}",
                        f"the test expects `{_short(new.expected)}` of `{_short(new.operation)}`, "
                        f"the project's own version of it `{_short(old.expected)}`, and the "
                        f"instruction does not name `{new.name}`",
                    )


def _gives(instruction: str, expected: str) -> bool:
    """Whether an instruction has an expected value."""
    value = expected.lstrip("=!<> ")
    if value in _TELLING_NOTHING or len(value.strip("'\"")) < _LEAST_VALUE:
        return False
    words = r"\s*".join(map(re.escape, re.findall(r"\w+|[^\w\s]", value.replace('"', "'"))))
    return re.search(rf"(?<!\w){words}(?!\w)", instruction.replace('"', "'")) is not None


def _changed(
    file: DecidingTestFile, before: FoundFunction, after: FoundFunction
) -> Iterator[tuple[_Expectation, _Expectation]]:
    """The expectations that differ, each before and after; an operation must be there once."""
    nodes = before.node, after.node
    if len({(ast.dump(one.args), *map(ast.dump, one.decorator_list)) for one in nodes}) > 1:
        return  # other parameters are other operations
    old, new = (_by_operation(file, node) for node in nodes)
    for operation, (other, *more) in new.items():
        match old.get(operation, []):
            case [one] if not more and one.setting == other.setting:
                if one.expected != other.expected:
                    yield one, other
            case _:
                pass


def _by_operation(
    file: DecidingTestFile, test: scopes.FunctionNode
) -> dict[str, list[_Expectation]]:
    found: dict[str, list[_Expectation]] = {}
    for statement, _ in scopes.statements(test.body):
        for actual, expected in _asserted(statement):
            name = _looked_at(actual)
            # What a helper of the tests looks at is unknown.
            if name and name not in file.functions:
                expectation = _Expectation(
                    operation=ast.unparse(actual),
                    name=name,
                    expected=expected,
                    line=statement.lineno,
                    setting=_setting(test, actual),
                )
                found.setdefault(expectation.operation, []).append(expectation)
    return found


def _asserted(statement: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """What an assertion looks at, and what it expects of it."""
    match statement:
        case ast.Assert(test=ast.Compare(left=left, ops=ops, comparators=comparators)):
            for one, op, other in zip([left, *comparators], ops, comparators, strict=False):
                if isinstance(op, ast.In | ast.NotIn):
                    yield ast.Tuple([one, other]), "in" if isinstance(op, ast.In) else "not in"
                else:
                    compared = ast.unparse(ast.Compare(one, [op], [other]))
                    yield one, compared.removeprefix(ast.unparse(one)).strip()
        case ast.Assert(test=ast.UnaryOp(op=ast.Not(), operand=actual)):
            yield actual, "False"
        case ast.Assert(test=actual):
            yield actual, "True"
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="assertTrue"), args=[actual])):
            yield actual, "True"
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="assertFalse"), args=[actual])):
            yield actual, "False"
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="assertEqual"), args=[one, other])):
            yield one, f"== {ast.unparse(other)}"
        case ast.With(items=[ast.withitem(context_expr=ast.Call(args=[expected]) as call)]):
            if python_syntax.name_of(call.func) in scopes.RAISING:
                yield ast.Module(statement.body, []), ast.unparse(expected)
        case _:
            pass


def _looked_at(actual: ast.AST) -> str:
    """The outermost function, attribute or key in an expression that is no built-in one."""
    level = [actual]
    while level:
        for node in level:
            match node:
                case ast.Call(func=func):
                    name = python_syntax.name_of(func)
                case ast.Attribute(attr=name):
                    pass
                case ast.Subscript(slice=ast.Constant(value=str() as name)):
                    pass
                case _:
                    continue
            if name and not hasattr(builtins, name) and name not in ATTRIBUTES_OF_VALUES:
                return name
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return ""


def _setting(test: scopes.FunctionNode, actual: ast.AST) -> frozenset[str]:
    """The statements that the variables of an expression depend on."""
    parts = [part for node in ast.walk(test) for part in _parts(node)]
    names = _names_in(actual)
    before: frozenset[str] = frozenset()
    while names != before:
        before = names
        names = names.union(*(own for part in parts if (own := _names_in(part)) & names))
    return frozenset(ast.unparse(part) for part in parts if _names_in(part) & names)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """A statement that is no assertion; of a block its head."""
    match node:
        case ast.With() | ast.AsyncWith() if next(_asserted(node), None) is None:
            yield from node.items
        case ast.For() | ast.AsyncFor():
            yield ast.Tuple([node.target, node.iter])
        case ast.If() | ast.While():
            yield node.test
        case ast.stmt() if not hasattr(node, "body") and next(_asserted(node), None) is None:
            yield node
        case _:
            pass


def _names_in(node: ast.AST) -> frozenset[str]:
    return frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
