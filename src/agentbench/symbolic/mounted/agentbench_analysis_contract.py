"""What a function is held to, and what a call of it comes to."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType

from crosshair.condition_parser import ConditionExpr, condition_parser
from crosshair.fnutil import FunctionInfo
from crosshair.options import AnalysisKind
from crosshair.util import AttributeHolder, NotDeterministic
from z3 import Z3Exception

_KINDS = (AnalysisKind.PEP316, AnalysisKind.icontract, AnalysisKind.deal, AnalysisKind.asserts)
# An entry of a section "Raises:" as Google has it, and one of Numpy's.
_GOOGLE = re.compile(r"^\s*Raises:\s*\n((?:[ \t]+\S.*\n?|\s*\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^\s+([A-Za-z_][\w.]*)\s*:", re.MULTILINE)


@dataclass(frozen=True)
class Guard:
    """An assertion at the top of a function: what fails it is no input that the function is for."""

    first: int  # line
    last: int
    words: str


@dataclass(frozen=True)
class Contract:
    """A function with what must hold of it. With no conditions, it must only raise as declared."""

    call: Callable[..., object]
    signature: inspect.Signature
    before: tuple[ConditionExpr, ...] = ()
    after: tuple[ConditionExpr, ...] = ()
    declared: tuple[type[BaseException], ...] = ()
    changeable: frozenset[str] | None = None  # None: any argument may be changed
    guards: tuple[Guard, ...] = ()
    checked: str = ""  # in words


def contract_of(holder: object, name: str, found: object) -> Contract | None:
    """The contract of a function; None where its signature cannot be told."""
    info = FunctionInfo(holder, name, found)
    pair = info.get_callable()
    if pair is None:
        return None
    with condition_parser(_KINDS) as parser:
        conditions = _conditions(parser, info)
    declared = _declared(pair[0])
    if conditions is None or not conditions.has_any():
        words = ", ".join(each.__name__ for each in declared) or "none"
        checked = f"that it raises only what it declares ({words}), since it has no contract"
        return Contract(pair[0], pair[1], declared=declared, checked=checked)
    faults = [fault.message for fault in conditions.syntax_messages()]
    if faults:
        raise ValueError(f"its contract cannot be read: {faults[0]}")
    if conditions.fn is not pair[0]:  # CrossHair's own way with assertions hides that one failed
        return _asserting(pair[0], pair[1], declared)
    return Contract(
        call=conditions.fn,
        signature=conditions.sig,
        before=tuple(conditions.pre),
        after=tuple(each for each in conditions.post if each.evaluate is not None),
        declared=(*conditions.raises, *declared),
        changeable=conditions.mutable_args,
        checked=_words(conditions),
    )


def _conditions(parser: object, info: FunctionInfo) -> object:
    if not isinstance(info.context, type):
        return parser.get_fn_conditions(info)
    return parser.get_class_conditions(info.context).methods.get(info.name)


def _asserting(
    function: Callable[..., object],
    signature: inspect.Signature,
    declared: tuple[type[BaseException], ...],
) -> Contract:
    """A function whose first statements are assertions: they say what it is for."""
    guards = _guards(function)
    given = " and ".join(guard.words for guard in guards)
    before = f"given {given} (asserted at its top), " if guards else ""
    checked = f"{before}that its assertions hold, and that it raises nothing undeclared"
    return Contract(function, signature, declared=declared, guards=guards, checked=checked)


def _guards(function: Callable[..., object]) -> tuple[Guard, ...]:
    lines, start = inspect.getsourcelines(inspect.unwrap(function))
    (found,) = ast.parse(textwrap.dedent("".join(lines))).body
    body = found.body[1:] if ast.get_docstring(found) is not None else found.body
    guards = []
    for one in body:
        if not isinstance(one, ast.Assert):
            break
        first, last = (start - 1 + line for line in (one.lineno, one.end_lineno or one.lineno))
        guards.append(Guard(first, last, ast.unparse(one.test)))
    # Where nothing follows them, the last one is what the others are for.
    return tuple(guards[:-1] if len(guards) == len(body) else guards)


def _words(conditions: object) -> str:
    before = [each.expr_source for each in conditions.pre if each.expr_source]
    after = [each.expr_source for each in conditions.post if each.expr_source]
    parts = []
    if before:
        parts.append(f"given {' and '.join(before)}")
    if after:
        parts.append(f"that {' and '.join(after)}")
    return f"its contract: {', '.join([*parts, ''])}and that it raises nothing undeclared"


def _declared(function: Callable[..., object]) -> tuple[type[BaseException], ...]:
    """The exceptions that a docstring names, as Sphinx or Google have it."""
    from crosshair.condition_parser import parse_sphinx_raises

    text = inspect.getdoc(function) or ""
    names = [name for part in _GOOGLE.findall(text) for name in _ENTRY.findall(part)]
    known = {**vars(builtins), **getattr(function, "__globals__", {})}
    kinds = [known.get(name) for name in names]
    google = {each for each in kinds if isinstance(each, type) and issubclass(each, BaseException)}
    return tuple(sorted(google | parse_sphinx_raises(function), key=lambda kind: kind.__name__))


def exception_named(name: str, known: Mapping[str, object]) -> type[BaseException] | None:
    """The exception of a name, dotted or not, as the code would say it."""
    first, *rest = name.split(".")
    found = known.get(first, vars(builtins).get(first))
    for part in rest:
        found = getattr(found, part, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


@dataclass(frozen=True)
class Behaviour:
    """What a call came to: `returned`, `outside`, `declared`, `raised`, `broken` or `changed`."""

    ending: str
    what: str = ""  # the condition that is broken, the argument that was changed
    value: object = None
    fault: BaseException | None = None


def behave(
    contract: Contract, given: inspect.BoundArguments, old: Mapping[str, object]
) -> Behaviour:
    """Call the function, and hold it to its contract; `old` are its arguments once more.

    Raises:
        Exception: what the function raises and has not declared.
    """
    outside = _outside(contract, {"__old__": AttributeHolder(old), **given.arguments})
    if outside is not None:
        return outside
    try:
        value = contract.call(*given.args, **given.kwargs)
        return _kept(contract, given, old, value)
    except contract.declared as fault:
        return Behaviour("declared", fault=fault)
    except AssertionError as fault:
        guard = _failed_guard(contract, fault)
        if guard is None:
            raise
        return Behaviour("outside", guard.words, fault=fault)


def _failed_guard(contract: Contract, fault: AssertionError) -> Guard | None:
    """The guard that raised it: in the function itself, and in no other that it calls."""
    code = getattr(inspect.unwrap(contract.call), "__code__", None)
    frames: list[TracebackType] = []
    trace = fault.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    within = [one.tb_lineno for one in frames if one.tb_frame.f_code is code]
    if not within or frames[-1].tb_frame.f_code is not code:
        return None
    line = within[0]  # of the call that was made, not of one within it
    return next((one for one in contract.guards if one.first <= line <= one.last), None)


def _outside(contract: Contract, names: Mapping[str, object]) -> Behaviour | None:
    for condition in contract.before:
        try:
            holds = condition.evaluate is None or bool(condition.evaluate(names))
        except (NotDeterministic, Z3Exception):
            raise  # of the search
        except Exception as fault:  # noqa: BLE001 - it does not hold
            return Behaviour("outside", condition.expr_source, fault=fault)
        if not holds:
            return Behaviour("outside", condition.expr_source)
    return None


def _kept(
    contract: Contract, given: inspect.BoundArguments, old: Mapping[str, object], value: object
) -> Behaviour:
    names = {**given.arguments, "__return__": value, "_": value, "__old__": AttributeHolder(old)}
    if contract.changeable is not None:
        for name, before in old.items():
            if name not in contract.changeable and given.arguments[name] != before:
                return Behaviour("changed", name, value)
    for condition in contract.after:
        if not condition.evaluate(names):
            return Behaviour("broken", condition.expr_source, value)
    return Behaviour("returned", value=value)
