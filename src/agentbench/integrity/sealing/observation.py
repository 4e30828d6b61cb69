"""Finds values that only fixed code gives, and that stay in a sealed test all the same.

When a task is prepared, the reference solution and the code without a fix run the sealed tests in
an *observing* form, which also records what each expression of a test gives. Where a value of the
solution meets an equal constant in one statement, as in `assert f(x).split("61") == …`, code under
test can read there what it should have returned. Arguments of the project's functions are inputs.
"""

import ast
import builtins
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from agentbench.integrity.sealing.canonical import CanonicalValue, Group, Instance, Leaf, Recording
from agentbench.integrity.sealing.levels import STANDARD_MODULES, FileNames
from agentbench.integrity.sealing.statements import RECORDER, recorder_call
from agentbench.python_source.functions import functions_of
from agentbench.python_source.python_syntax import name_of
from agentbench.python_source.scopes import assigned

_STAYS = "line {}: {!r}, which only a right fix gives, stays in the test"
_FEW = 1  # numbers up to this are in most statements
_TELLING = 3  # letters and digits of a part of a text
_CLOSE = 0.01  # a number that is compared with a tolerance
_DEEPEST = 6  # names that stand for names
_RUNNING = (ast.Call, ast.Attribute, ast.Subscript, ast.Name, ast.Await, ast.BinOp)


class ObservedPlace(Struct, frozen=True, kw_only=True):
    """An expression of a test that is recorded in the observing form."""

    line: int
    constants: tuple[str | float, ...]  # that its value meets


def observe(tree: ast.Module, names: FileNames, start: int) -> dict[int, ObservedPlace]:
    """Make a sealed file observing.

    Args:
        tree: The sealed file, which is changed.
        names: The names of the file before it was sealed.
        start: The number before the first observed expression.

    Returns:
        The observed expressions. The recordings of each have its number, negative, as their site.
    """
    found = functions_of(tree).functions
    module = list(chain.from_iterable(map(_given, tree.body)))
    places: dict[int, tuple[int, ObservedPlace]] = {}
    for function in found.values():
        own = [pair for node in ast.walk(function.node) for pair in _given(node)]
        reader = _StatementReader(names=names, given=_by_name(own), outer=_by_name(module))
        for node in ast.walk(function.node):
            if isinstance(node, ast.stmt) and node is not function.node:
                for expression, place in reader.places(node):
                    places.setdefault(id(expression), (start + len(places) + 1, place))
    numbers = {key: number for key, (number, _) in places.items()}
    _Observer(numbers).visit(tree)
    return dict(places.values())


class _Observer(ast.NodeTransformer):
    def __init__(self, numbers: Mapping[int, int]) -> None:
        self._numbers = numbers

    def visit(self, node: ast.AST) -> ast.AST:
        number = self._numbers.get(id(node))
        visited: ast.AST = self.generic_visit(node)
        if number is None or not isinstance(visited, ast.expr):
            return visited
        return recorder_call("seen", number, visited)


class _StatementReader(Struct, frozen=True, kw_only=True):
    """Reads the statements of one function."""

    names: FileNames
    given: Mapping[str, Sequence[ast.expr]]  # what each name of the function stands for
    outer: Mapping[str, Sequence[ast.expr]]  # and each name of the module

    def places(self, statement: ast.stmt) -> Iterator[tuple[ast.expr, ObservedPlace]]:
        """The expressions of a statement whose values meet a constant there."""
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        nodes = list(_header(statement))
        inside = {id(node): {id(part) for part in ast.walk(node)} for node in nodes}
        calls = [node for node in nodes if isinstance(node, ast.Call) and self._is_input(node)]
        constants = {
            id(node): values for node in nodes if (values := tuple(self._values(node, _DEEPEST)))
        }
        skipped = _not_expressions(nodes)
        # Python before 3.12 has few quotes to write calls in these.
        quoted = {
            id(p) for node in nodes if isinstance(node, ast.JoinedStr) for p in ast.walk(node)
        }
        for node in nodes:
            if not isinstance(node, _RUNNING) or id(node) in skipped | quoted:
                continue
            if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                continue
            if isinstance(node, ast.Name) and node.id in self.names.imported:
                continue
            inputs = set[int]()
            for call in calls:
                if id(node) not in inside[id(call)]:
                    inputs |= inside[id(call)]
            met = [
                value
                for key, values in constants.items()
                if key not in inside[id(node)] and key not in inputs and key not in skipped
                for value in values
            ]
            if met:
                yield node, ObservedPlace(line=statement.lineno, constants=tuple(met))

    def _values(self, node: ast.AST, depth: int) -> Iterator[str | float]:
        """The constants that an expression is, or that a name stands for."""
        if isinstance(node, ast.Constant):
            yield from _text_of(node.value)
        elif isinstance(node, ast.Name | ast.Attribute) and depth:
            name = node.id if isinstance(node, ast.Name) else f".{node.attr}"
            for value in self.given.get(name) or self.outer.get(name, ()):
                calls = [c for c in ast.walk(value) if isinstance(c, ast.Call)]
                inputs = {id(p) for c in calls if self._is_input(c) for p in ast.walk(c)}
                for part in ast.walk(value):
                    if id(part) not in inputs:
                        yield from self._values(part, depth - 1)

    def _is_input(self, call: ast.Call) -> bool:
        """Whether a call may be one of the project's, whose arguments are inputs."""
        root: ast.expr = call.func
        while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
            root = root.func if isinstance(root, ast.Call) else root.value
        if not isinstance(root, ast.Name):
            return False
        names = self.names
        known = names.standard | names.foreign | names.classes | STANDARD_MODULES
        return root.id not in known and not hasattr(builtins, root.id)


def _header(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement, without the statements in it."""
    waiting = list(ast.iter_child_nodes(statement))
    if isinstance(statement, ast.AnnAssign):
        waiting.remove(statement.annotation)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.stmt):
            yield node
            waiting += ast.iter_child_nodes(node)


def _not_expressions(nodes: Iterable[ast.AST]) -> set[int]:
    """The parts that are no values of their own: called names, keys, annotations, and patterns."""
    found: set[int] = set()
    for node in nodes:
        match node:
            case ast.Call(func=func, args=arguments):
                found.add(id(func))
                if _is_recorder(func):
                    found.add(id(node))
                    numbers = arguments if name_of(func) == "token" else arguments[:1]
                    found.update(id(part) for root in (func, *numbers) for part in ast.walk(root))
            case ast.Subscript(value=value, slice=at) if not isinstance(value, ast.Dict | ast.List):
                found.update(id(part) for part in ast.walk(at) if isinstance(part, ast.Constant))
            case ast.MatchValue(value=value) if not isinstance(value, ast.Constant):
                found.update(id(part) for part in ast.walk(value))
            case ast.MatchClass(cls=cls):
                found.update(id(part) for part in ast.walk(cls))
            case ast.MatchMapping(keys=keys):
                found.update(id(part) for key in keys for part in ast.walk(key))
            case _:
                pass
    return found


def _is_recorder(func: ast.expr) -> bool:
    match func:
        case ast.Attribute(
            value=ast.Call(func=ast.Name("__import__"), args=[ast.Constant(name), *_])
        ):
            return name == RECORDER
        case _:
            return False


def _given(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a node gives a value, each with the value; attributes start with a dot."""
    match node:
        case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
            named = [*arguments.posonlyargs, *arguments.args]
            last = named[len(named) - len(arguments.defaults) :]
            yield from ((a.arg, v) for a, v in zip(last, arguments.defaults, strict=True))
            pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            yield from ((argument.arg, value) for argument, value in pairs if value is not None)
        case ast.ClassDef(body=body):
            for statement in body:
                yield from ((f".{name}", value) for name, value in assigned(statement))
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            yield from ((name, value) for name in _names(target))
        case ast.comprehension(target=target, iter=value):
            yield from ((name, value) for name in _names(target))
        case ast.Assign(targets=targets, value=value):
            yield from ((name, value) for target in targets for name in _names(target))
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from ((name, value) for name in _names(target))
        case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            yield from ((name, value) for name in _names(target))
        case _:
            pass


def _names(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield f".{node.attr}"


def _by_name(pairs: Iterable[tuple[str, ast.expr]]) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def what_stays(
    places: Mapping[int, ObservedPlace], right: Sequence[Recording], base: Sequence[Recording]
) -> str | None:
    """Why a test is not sealed: a value that only the reference solution gives stays in it.

    Args:
        places: The observed expressions of its file.
        right: What the reference solution recorded in the test.
        base: What the code without a fix recorded.
    """
    before: dict[int, set[str | float]] = {}
    for recording in base:
        if recording.site < 0:
            values = (value for each in recording.values for value in _leaves(each))
            before.setdefault(-recording.site, set()).update(values)
    for recording in right:
        place = places.get(-recording.site)
        if place is None:
            continue
        known = before.get(-recording.site, set())
        for value in {value for each in recording.values for value in _leaves(each)} - known:
            for constant in place.constants:
                if _tells(constant, value, known):
                    return _STAYS.format(place.line, constant)
    return None


def _leaves(value: CanonicalValue) -> Iterator[str | float]:
    """The texts and numbers in a value; keys of a dict are named by the test, too."""
    match value:
        case Leaf(value=single):
            yield from _text_of(single)
        case Group(kind="pair", items=(_, item)):
            yield from _leaves(item)
        case Group(items=items):
            for item in items:
                yield from _leaves(item)
        case Instance(base=base, public=public):
            if base is not None:
                yield from _leaves(base)
            for _, part in public:
                yield from _leaves(part)
        case _:
            pass


def _text_of(value: object) -> Iterator[str | float]:
    match value:
        case bool() | None:
            pass
        case int() | float():
            if abs(value) > _FEW:
                yield value
        case bytes():
            yield value.decode("latin-1")
        case str():
            yield value
        case _:
            pass


def _tells(constant: str | float, value: str | float, known: Collection[str | float]) -> bool:
    """Whether a constant shows a value, or a part of it, which other values do not have."""
    if isinstance(constant, float | int) and isinstance(value, float | int):
        is_close = isinstance(constant, float) or isinstance(value, float)
        return constant == value or (
            is_close and abs(constant - value) <= _CLOSE * min(abs(constant), abs(value))
        )
    part, text = str(constant), str(value)
    if part == text:
        return len(part) > 1
    if isinstance(value, float | int):  # a number in a text of the test
        part, text = text, part
        return len(part) > 1 and _is_part(part, text)
    is_new = not any(part in str(other) for other in known)
    letters = sum(map(str.isalnum, part))
    is_telling = letters >= _TELLING or (part.isdigit() and letters > 1)
    return is_new and is_telling and _is_part(part, text)


def _is_part(part: str, text: str) -> bool:
    if part.isdigit():
        return re.search(rf"(?<!\d){part}(?!\d)", text) is not None
    return part in text
