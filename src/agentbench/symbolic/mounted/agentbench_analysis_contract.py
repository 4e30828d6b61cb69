"""What a function is held to, and what a call of it comes to."""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

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
class Contract:
    """A function with what must hold of it. With no conditions, it must only raise as declared."""

    call: Callable[..., object]
    signature: inspect.Signature
    before: tuple[ConditionExpr, ...] = ()
    after: tuple[ConditionExpr, ...] = ()
    declared: tuple[type[BaseException], ...] = ()
    changeable: frozenset[str] | None = None  # None: any argument may be changed
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


def _words(conditions: object) -> str:
    before = [each.expr_source for each in conditions.pre if each.expr_source]
    after = [each.expr_source for each in conditions.post if each.expr_source]
    parts = []
    if before:
        parts.append(f"given {' and '.join(before)}")
    parts.append(f"that {' and '.join(after)}" if after else "its assertions")
    return f"its contract: {', '.join(parts)}, and that it raises nothing undeclared"


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
