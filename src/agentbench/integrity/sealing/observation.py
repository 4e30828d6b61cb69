"""Finds values that only fixed code gives, and that stay in a sealed test all the same.

When a task is prepared, the reference solution and the code without a fix run the sealed tests in
an *observing* form, which also records what each expression of a test gives. Where a value of the
solution meets an equal constant in one statement, as in `assert f(x).split("61") == …`, code under
test can read there what it should have returned. Arguments of the project's functions are inputs.
"""

import ast
import builtins
import contextlib
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from agentbench.integrity.records import VisibleValue
from agentbench.integrity.sealing.canonical import (
    CanonicalValue,
    Digest,
    Group,
    Instance,
    Leaf,
    Recording,
)
from agentbench.integrity.sealing.levels import STANDARD_MODULES, FileNames
from agentbench.integrity.sealing.statements import RECORDER, recorder_call
from agentbench.python_source.functions import functions_of
from agentbench.python_source.python_syntax import name_of, root_of
from agentbench.python_source.scopes import assigned

_STAYS = "line {}: {!r}, which only a right fix gives, stays in the test"
_RECORDER = f"__import__({RECORDER!r})"
_PASSED = "line {}: a function of another file gets what only a right fix gives"
_UNREAD = "line {}: too large a value meets a constant that stays in the test"
_FEW = 9  # numbers up to this are in most statements
_TELLING = 3  # letters and digits of a part of a text
_FILLS = frozenset(["add", "append", "extend", "insert", "setdefault", "update"])
_WORD = re.compile(r"\d+|[^\W\d_]+")
_CLOSE = 0.01  # a number that is compared with a tolerance
_DEEPEST = 6  # names that stand for names
_MOST = 500  # constants of one statement, and characters of one in which words are found
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_OBSERVED = (ast.Call, ast.Attribute, ast.Subscript, ast.Name, ast.Await, ast.BinOp, ast.JoinedStr)
_CHANGEABLE = (ast.Dict, ast.List, ast.Set, ast.Call)  # by the project, if it gets them
_DISPLAYS = (ast.Dict, ast.List, ast.Set, ast.Tuple, ast.DictComp, ast.ListComp, ast.SetComp)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """An expression of a test that is recorded in the observing form."""

    line: int
    constants: tuple[str | float, ...] = ()  # that its value meets
    arguments: frozenset[str | float] = frozenset()  # those of them that only its own methods get
    others: tuple[int, ...] = ()  # the observed of values of the test itself that its value meets
    other_arguments: frozenset[int] = frozenset()  # those of them that only its own methods get
    is_own: bool = False  # whether the test itself made the container, and so chose its keys
    is_foreign_argument: bool = False  # whether a function of another file gets it


def observe(tree: ast.Module, names: FileNames, start: int) -> dict[int, Observation]:
    """Make a sealed file observing.

    Args:
        tree: The sealed file, which is changed.
        names: The names of the file before it was sealed.
        start: The number before the first observed expression.

    Returns:
        The observed expressions by the sites of their recordings, which are negative, and the
        assertions.
    """
    outer = _by_name(
        (name, value)
        for node in ast.walk(tree)
        for name, value in _assignments(node)
        if name.startswith(".") or node in tree.body
    )
    numbers: dict[int, int] = {}
    observed: dict[int, Observation] = {}
    for function in functions_of(tree).functions.values():
        nodes = list(ast.walk(function.node))
        bindings = _by_name(pair for node in nodes for pair in _assignments(node))
        reader = _StatementReader(names=names, bindings={**outer, **bindings})
        statements = [n for n in nodes if isinstance(n, ast.stmt) and not isinstance(n, _SCOPES)]
        visible = [value for one in statements for value in reader.visible(one)]
        for statement in statements:
            found = reader.expressions(statement, visible)
            for key in found:
                numbers.setdefault(key, start + len(numbers) + 1)
            for key, expression in found.items():
                others = tuple(-numbers[other] for other in expression.others)
                own = frozenset(-numbers[other] for other in expression.other_arguments)
                observed[-numbers[key]] = replace(expression, others=others, other_arguments=own)
            for node in _header(statement) if visible else ():
                match node:
                    case ast.Call(func=func, args=[ast.Constant(value=int(number)), *_]):
                        if _is_recorder(func) and name_of(func) != "token":
                            line, met = statement.lineno, tuple(visible)
                            observed[number] = Observation(line=line, constants=met)
                    case _:
                        pass
    _Observer(numbers).visit(tree)
    return observed


class _Observer(ast.NodeTransformer):
    def __init__(self, numbers: Mapping[int, int]) -> None:
        self._numbers = numbers

    def visit(self, node: ast.AST) -> ast.AST:
        number = self._numbers.get(id(node))
        visited: ast.AST = self.generic_visit(node)
        if number is None or not isinstance(visited, ast.expr):
            return visited
        return recorder_call("observe", number, visited)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatementReader:
    """Reads the statements of one function."""

    names: FileNames
    bindings: Mapping[str, Sequence[ast.expr]]  # what each name stands for

    def visible(self, statement: ast.stmt) -> Iterator[str | float]:
        """The constants that a statement shows beside the function's other statements.

        A call that is a statement, or the head of a `with`, may compare later: `print(61)` shows
        a value, and `with gives(61) as found:` expects it.
        """
        if isinstance(statement, ast.With | ast.AsyncWith) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        ):
            nodes = list(_header(statement))
            # A manager of the file itself may compare.
            own = () if isinstance(statement, ast.Expr) else self.names.functions
            calls = [n for n in nodes if isinstance(n, ast.Call) and name_of(n.func) not in own]
            inputs = self._inputs(calls) | _not_expressions(nodes)
            for node in nodes:
                if id(node) not in inputs:
                    yield from self._values(node)

    def expressions(
        self, statement: ast.stmt, visible: Sequence[str | float]
    ) -> dict[int, Observation]:
        """The expressions of a statement, by id, with what their values meet there.

        Args:
            statement: The statement.
            visible: The constants that the function shows elsewhere.
        """
        nodes = list(_header(statement))
        inside = {id(node): {id(part) for part in ast.walk(node)} for node in nodes}
        calls = [node for node in nodes if isinstance(node, ast.Call) and self._is_input(node)]
        skipped = _not_expressions(nodes)
        read = [node for node in nodes if id(node) not in skipped]
        constants = {id(node): values for node in read if (values := [*self._values(node)])}
        unwritable = skipped | _quoted(nodes)
        foreign_arguments = {
            id(argument)
            for node in nodes
            if isinstance(node, ast.Call) and root_of(node) in self.names.foreign
            for argument in (*node.args, *(keyword.value for keyword in node.keywords))
        }
        observed = [
            node
            for node in nodes
            if isinstance(node, _OBSERVED)
            and id(node) not in unwritable
            and isinstance(getattr(node, "ctx", None) or ast.Load(), ast.Load)
            and not (isinstance(node, ast.Name) and node.id in self.names.imported)
        ]
        of_test = [node for node in observed if not self._may_be_computed(node)]
        found: dict[int, Observation] = {}
        for node in observed:
            if not self._may_be_computed(node, may_be_changed=True):
                continue
            inputs, own = set[int](), set[int]()
            for call in calls:
                if id(node) not in inside[id(call)]:
                    inputs |= inside[id(call)]
                elif isinstance(call.func, ast.Attribute) and call.func.value is node:
                    fills = call.func.attr in _FILLS  # and compares nothing
                    (inputs if fills else own).update(inside[id(call)])
            inputs |= inside[id(node)]
            met = dict.fromkeys(visible, True)
            for key, values in constants.items():
                if key not in inputs:
                    met |= {value: met.get(value, False) or key not in own for value in values}
            # In the order of the text: the child process that compares numbers them again.
            others = [id(other) for other in of_test if id(other) not in inputs]
            if met or others or id(node) in foreign_arguments:
                made = self.bindings.get(node.id, ()) if isinstance(node, ast.Name) else [node]
                for other in others:
                    found.setdefault(other, Observation(line=statement.lineno))
                found[id(node)] = Observation(
                    line=statement.lineno,
                    constants=tuple(met)[:_MOST],
                    arguments=frozenset(value for value, is_met in met.items() if not is_met),
                    others=tuple(others),
                    other_arguments=frozenset(own.intersection(others)),
                    is_own=any(isinstance(one, _DISPLAYS) for one in made),
                    is_foreign_argument=id(node) in foreign_arguments,
                )
        return found

    # Whether the project may have computed a value, or may have changed it if it got it.
    def _may_be_computed(
        self,
        node: ast.AST,
        visited: frozenset[str] = frozenset(),
        *,
        may_be_changed: bool = False,
    ) -> bool:
        known = self.names.standard | self.names.foreign | STANDARD_MODULES | {"__file__"}
        for name in {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - visited:
            bindings = self.bindings.get(name)
            if bindings is None and name not in known and not hasattr(builtins, name):
                return True
            for value in bindings or ():
                if may_be_changed and isinstance(value, _CHANGEABLE):
                    return True
                if self._may_be_computed(value, visited | {name}, may_be_changed=may_be_changed):
                    return True
        return False

    # The constants that an expression is, or that a name stands for.
    def _values(
        self, node: ast.AST, visited: frozenset[str] = frozenset()
    ) -> Iterator[str | float]:
        if isinstance(node, ast.Constant):
            yield from _text_of(node.value)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield from (-one for one in self._values(node.operand) if not isinstance(one, str))
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else f".{node.attr}"
            if name in visited or len(visited) == _DEEPEST:
                return
            for value in self.bindings.get(name, ())[:_MOST]:
                parts = list(ast.walk(value))
                inputs = self._inputs(parts) | _not_expressions(parts)
                for part in parts:
                    if id(part) not in inputs:
                        yield from self._values(part, visited | {name})

    def _inputs(self, nodes: Iterable[ast.AST]) -> set[int]:
        calls = [node for node in nodes if isinstance(node, ast.Call) and self._is_input(node)]
        return {id(part) for call in calls for part in ast.walk(call)}

    # Whether a call may be one of the project's, whose arguments are inputs.
    def _is_input(self, call: ast.Call) -> bool:
        names, func, root = self.names, call.func, root_of(call)
        if root == "self" and isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
            # A method of unittest, unless the file has it.
            return any(one.endswith(f"::{func.attr}") for one in names.functions)
        known = names.standard | names.foreign | names.classes | STANDARD_MODULES
        return bool(root) and root not in known and not hasattr(builtins, root)


# The parts of f-strings in which no call can be written: Python before 3.12 has few quotes.
def _quoted(nodes: Iterable[ast.AST]) -> set[int]:
    found = set[int]()
    for text in nodes:
        if isinstance(text, ast.JoinedStr):
            inner = [part for value in text.values for part in ast.walk(value) if part is not value]
            constants = [one.value for one in inner if isinstance(one, ast.Constant)]
            if any(isinstance(value, str | bytes) for value in constants):
                found.update(map(id, inner))
    return found


def _header(statement: ast.stmt) -> Iterator[ast.AST]:
    waiting = list(ast.iter_child_nodes(statement))
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.stmt):
            yield node
            waiting += ast.iter_child_nodes(node)


# The parts that are no values of their own: called names, keys, and patterns.
def _not_expressions(nodes: Iterable[ast.AST]) -> set[int]:
    found: set[int] = set()
    for node in nodes:
        match node:
            case ast.Call(func=func, args=arguments):
                found.add(id(func))
                if _is_recorder(func):
                    found.add(id(node))
                    numbers = arguments if name_of(func) == "token" else arguments[:1]
                    found.update(id(part) for root in (func, *numbers) for part in ast.walk(root))
            case ast.Subscript(value=value, slice=at) if not isinstance(
                value, (ast.Name, *_DISPLAYS)
            ):
                constants = (part for part in ast.walk(at) if isinstance(part, ast.Constant))
                found.update(id(one) for one in constants if isinstance(one.value, str | bytes))
            case ast.pattern():  # has no calls
                parts = [part for part in ast.walk(node) if isinstance(part, ast.expr)]
                found.update(id(part) for part in parts if not isinstance(part, ast.Constant))
            case _:
                pass
    return found


def _is_recorder(func: ast.expr) -> bool:
    return isinstance(func, ast.Attribute) and ast.unparse(func.value) == _RECORDER


# The names that a node gives a value, each with the value; attributes start with a dot.
def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
            named = [*arguments.posonlyargs, *arguments.args]
            last = named[len(named) - len(arguments.defaults) :]
            yield from ((a.arg, v) for a, v in zip(last, arguments.defaults, strict=True))
            pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            yield from ((argument.arg, value) for argument, value in pairs if value is not None)
            # A table of parameters, as far as it is not taken out.
            tables = [a for d in node.decorator_list if isinstance(d, ast.Call) for a in d.args[1:]]
            computed = [table for table in tables if not isinstance(table, ast.List | ast.Tuple)]
            yield from ((argument.arg, table) for argument in named for table in computed)
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
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=arguments):
            if attr in _FILLS:
                yield from ((name, argument) for argument in arguments)
        case _:
            pass


def _names(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            if isinstance(node, ast.Attribute):
                yield f".{node.attr}"
            if isinstance(node.value, ast.Name) and node.value.id != "self":
                yield node.value.id


def _by_name(pairs: Iterable[tuple[str, ast.expr]]) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def what_stays(
    observed: Mapping[int, Observation],
    right: Sequence[Recording],
    base: Sequence[Recording],
) -> VisibleValue | None:
    """A value that only the reference solution gives, and that stays in a test.

    Args:
        observed: The observed expressions of its file.
        right: What the reference solution recorded in the test.
        base: What the code without a fix recorded.
    """
    visible: list[tuple[bool, VisibleValue]] = []
    before, after = _values_by_site(observed, base), _values_by_site(observed, right)
    for recording in (one for one in right if one.site in observed):
        expression = observed[recording.site]
        is_met = expression.constants or expression.others or expression.is_foreign_argument
        if recording == Recording(recording.site) and is_met:  # it could not be read in full
            visible.append((False, VisibleValue(reason=_UNREAD.format(expression.line))))
        known = before.get(recording.site, set())
        found = set(_recorded(recording, with_keys=expression.is_own)) - known
        if found and expression.is_foreign_argument:
            longest = max(found, key=lambda value: (len(str(value)), repr(value)))
            why = _PASSED.format(expression.line)
            visible.append((False, VisibleValue(reason=why, value=longest)))
        # Arguments of an object's own methods are inputs; those of a text's methods are not.
        is_object = recording.site < 0 and len(recording.values) > 1
        others = set(expression.others) - (expression.other_arguments if is_object else set())
        # What a test computes itself, such as a folder's name, is random if it changes.
        of_test = [after.get(o, set()) & before.get(o, after.get(o, set())) for o in others]
        constants = {*expression.constants}.union(*of_test) - known
        constants -= expression.arguments if is_object else set()
        for constant in sorted(constants, key=repr):
            value = next((v for v in sorted(found, key=repr) if _tells(constant, v, known)), None)
            if value is not None:
                why = _STAYS.format(expression.line, constant)
                value = value if str(value) in str(constant) else constant
                visible.append((constant in found, VisibleValue(reason=why, value=value)))
    exact = [one for is_exact, one in visible if is_exact]
    # Code under test must not know which of them becomes wrong in blind runs.
    return Random().choice(exact or [one for _, one in visible]) if visible else None


def _values_by_site(
    observed: Mapping[int, Observation], recordings: Iterable[Recording]
) -> dict[int, set[str | float]]:
    found: dict[int, set[str | float]] = {}
    for recording in recordings:
        if recording.site in observed:
            found.setdefault(recording.site, set()).update(_recorded(recording, with_keys=True))
    return found


def _recorded(recording: Recording, *, with_keys: bool) -> Iterator[str | float]:
    raised = () if recording.raised is None else (recording.raised,)
    for value in (*recording.values, *raised, *(recording.warned or ())):
        yield from _leaf_texts(value, with_keys=with_keys)


# The texts and numbers in a value. Tests name the fields of a project's dict, too.
def _leaf_texts(value: CanonicalValue, *, with_keys: bool) -> Iterator[str | float]:
    match value:
        case Leaf(value=single):
            yield from _text_of(single)
        case Digest(sha256=sha256):
            yield sha256
        case Group(kind="pair", items=(Leaf(value=str() | bytes()), item)) if not with_keys:
            yield from _leaf_texts(item, with_keys=with_keys)
        case Group(items=items):
            for item in items:
                yield from _leaf_texts(item, with_keys=with_keys)
        case Instance():
            text = value.disclosed("str") if value.kind == "exception" else None
            for part in (value.base, text, *(part for _, part in value.public)):
                if part is not None:
                    yield from _leaf_texts(part, with_keys=with_keys)
        case _:
            pass


def _text_of(value: object) -> Iterator[str | float]:
    if isinstance(value, bytes):
        yield value.decode("latin-1")
    elif isinstance(value, str) or (
        isinstance(value, int | float) and (abs(value) > _FEW or value % 1)
    ):
        yield value


# Whether a constant shows a value, or a part of it, which other values do not have.
def _tells(constant: str | float, value: str | float, known: Collection[str | float]) -> bool:
    if isinstance(constant, float | int) and isinstance(value, float | int):
        is_rough = isinstance(constant, float) or isinstance(value, float)
        with contextlib.suppress(OverflowError):
            return constant == value or (is_rough and math.isclose(constant, value, rel_tol=_CLOSE))
        return False
    part, text = str(constant), str(value)
    if part == text:
        return len(part) > 1
    if isinstance(value, float | int) or text.isdigit():  # a number in a text of the test
        return len(text) > 1 and _is_part(text, part)
    letters = sum(map(str.isalnum, part))
    is_telling = letters >= _TELLING or (part.isdigit() and letters > 1)
    if is_telling and _is_part(part, text):
        return not any(part in str(other) for other in known)
    # A pattern, or a text around the value.
    words = _WORD.findall(part) if len(part) < _MOST else ()
    return any(_tells(word, value, known) for word in words if word != part)


def _is_part(part: str, text: str) -> bool:
    if part.isdigit():
        return re.search(rf"(?<!\d){part}(?!\d)", text) is not None
    return part in text
