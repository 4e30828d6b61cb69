"""The contract of a function, and the behaviour of a call under it."""

import ast
import builtins
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from traceback import walk_tb

from crosshair import condition_parser
from crosshair.fnutil import FunctionInfo
from crosshair.options import AnalysisKind
from crosshair.util import AttributeHolder, NotDeterministic
from z3 import Z3Exception

from .foreign_code import call_foreign
from .submitted_code import FoundFunction

_KINDS = (AnalysisKind.PEP316, AnalysisKind.icontract, AnalysisKind.deal, AnalysisKind.asserts)
# An entry of a section "Raises:" as Google has it, and one of Numpy's.
_GOOGLE = re.compile(r"^\s*Raises:\s*\n((?:[ \t]+\S.*\n?|\s*\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^\s+([A-Za-z_][\w.]*)\s*:", re.MULTILINE)


@dataclass(frozen=True)
class Precondition:
    """An assertion at the top of a function, which excludes inputs that fail it."""

    lines: range
    words: str


@dataclass(frozen=True)
class Contract:
    """A function and its conditions. Without conditions, it must only raise declared exceptions."""

    call: Callable[..., object]
    signature: inspect.Signature
    before: tuple[condition_parser.ConditionExpr, ...] = ()
    after: tuple[condition_parser.ConditionExpr, ...] = ()
    declared: tuple[type[BaseException], ...] = ()
    changeable: frozenset[str] | None = None  # None: any argument may be changed
    asserted: tuple[Precondition, ...] = ()
    checked: str = ""  # in words


def contract_of(found: FoundFunction) -> Contract | None:
    """The contract of a function; None if its signature is unknown."""
    info = FunctionInfo(found.holder, found.name, found.attribute)  # type: ignore[arg-type] # it takes any attribute
    pair = info.get_callable()
    if pair is None:
        return None
    call, signature = pair
    conditions = _conditions(info)
    declared = _declared(call)
    if conditions is None or not conditions.has_any():
        words = ", ".join(each.__name__ for each in declared) or "none"
        checked = f"that it raises only what it declares ({words}), since it has no contract"
        return Contract(call, signature, declared=declared, checked=checked)
    faults = [fault.message for fault in conditions.syntax_messages()]
    if faults:
        raise ValueError(f"its contract cannot be read: {faults[0]}")
    if conditions.fn is not call:  # CrossHair's own handling hides that an assertion failed
        asserted = _preconditions(call)
        preconditions = " and ".join(one.words for one in asserted)
        before = f"given {preconditions} (asserted at its top), " if asserted else ""
        return Contract(
            call,
            signature,
            declared=declared,
            asserted=asserted,
            checked=f"{before}that its assertions hold, and that it raises nothing undeclared",
        )
    return Contract(
        call=conditions.fn,
        signature=conditions.sig,
        before=tuple(conditions.pre),
        after=tuple(each for each in conditions.post if each.evaluate is not None),
        declared=(*conditions.raises, *declared),
        changeable=conditions.mutable_args,
        checked=_words(conditions),
    )


def _conditions(info: FunctionInfo) -> condition_parser.Conditions | None:
    with condition_parser.condition_parser(_KINDS) as parser:
        if not isinstance(info.context, type):
            return parser.get_fn_conditions(info)
        return parser.get_class_conditions(info.context).methods.get(info.name)


def _preconditions(function: Callable[..., object]) -> tuple[Precondition, ...]:
    lines, start = inspect.getsourcelines(inspect.unwrap(function))
    (found,) = ast.parse(textwrap.dedent("".join(lines))).body
    assert isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef))
    body = found.body[1:] if ast.get_docstring(found) is not None else found.body
    asserted = []
    for one in body:
        if not isinstance(one, ast.Assert):
            break
        first, last = start - 1 + one.lineno, start - 1 + (one.end_lineno or one.lineno)
        asserted.append(Precondition(range(first, last + 1), ast.unparse(one.test)))
    # If the function has nothing else, its last assertion is what it must fulfil.
    return tuple(asserted[:-1] if len(asserted) == len(body) else asserted)


def _words(conditions: condition_parser.Conditions) -> str:
    before = [each.expr_source for each in conditions.pre if each.expr_source]
    after = [each.expr_source for each in conditions.post if each.expr_source]
    parts = []
    if before:
        parts.append(f"given {' and '.join(before)}")
    if after:
        parts.append(f"that {' and '.join(after)}")
    return f"its contract: {', '.join([*parts, ''])}and that it raises nothing undeclared"


# The exceptions that a docstring in the style of Sphinx or Google names.
def _declared(function: Callable[..., object]) -> tuple[type[BaseException], ...]:
    text = inspect.getdoc(function) or ""
    names = [name for part in _GOOGLE.findall(text) for name in _ENTRY.findall(part)]
    known = {**vars(builtins), **getattr(function, "__globals__", {})}
    kinds = [known.get(name) for name in names]
    google = {each for each in kinds if isinstance(each, type) and issubclass(each, BaseException)}
    found = google | condition_parser.parse_sphinx_raises(function)
    return tuple(sorted(found, key=lambda kind: kind.__name__))


def exception_named(name: str, known: Mapping[str, object]) -> type[BaseException] | None:
    """The exception of a dotted name, as the code would write it."""
    first, *rest = name.split(".")
    found = known.get(first, vars(builtins).get(first))
    for part in rest:
        found = getattr(found, part, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


@dataclass(frozen=True)
class Behaviour:
    """The behaviour of a call: `returned`, `outside`, `declared`, `raised`, `broken`, `changed`."""

    ending: str
    what: str = ""  # the broken condition, or the changed argument
    value: object = None
    fault: BaseException | None = None


def behave(
    contract: Contract, bound_arguments: inspect.BoundArguments, old: Mapping[str, object]
) -> Behaviour:
    """Call the function, whose undeclared exceptions pass, and check its contract.

    Raises:
        Exception: an undeclared exception of the function.
    """
    outside = _failed_condition(
        contract, {"__old__": AttributeHolder(old), **bound_arguments.arguments}
    )
    if outside is not None:
        return outside
    try:
        value = contract.call(*bound_arguments.args, **bound_arguments.kwargs)
        return _checked_return(contract, bound_arguments, old, value)
    except contract.declared as fault:
        return Behaviour("declared", fault=fault)
    except AssertionError as fault:
        failed = _failed_precondition(contract, fault)
        if failed is None:
            raise
        return Behaviour("outside", failed.words, fault=fault)


# The precondition that raised an error, in the function itself and not in one it calls.
def _failed_precondition(contract: Contract, fault: AssertionError) -> Precondition | None:
    code = getattr(inspect.unwrap(contract.call), "__code__", None)
    entries = list(walk_tb(fault.__traceback__))
    lines = [line for frame, line in entries if frame.f_code is code]
    if not lines or entries[-1][0].f_code is not code:
        return None
    line = lines[0]  # of the outermost call, if the function calls itself
    return next((one for one in contract.asserted if line in one.lines), None)


def _failed_condition(contract: Contract, names: Mapping[str, object]) -> Behaviour | None:
    for condition in contract.before:
        result = call_foreign(
            lambda: condition.evaluate is None or bool(condition.evaluate(names)),  # noqa: B023 - called at once
            let_through=(NotDeterministic, Z3Exception),  # errors of the search
        )
        if not result.value:
            return Behaviour("outside", condition.expr_source, fault=result.error)
    return None


def _checked_return(
    contract: Contract,
    bound_arguments: inspect.BoundArguments,
    old: Mapping[str, object],
    value: object,
) -> Behaviour:
    names = {
        **bound_arguments.arguments,
        "__return__": value,
        "_": value,
        "__old__": AttributeHolder(old),
    }
    if contract.changeable is not None:
        for name, before in old.items():
            if name not in contract.changeable and bound_arguments.arguments[name] != before:
                return Behaviour("changed", name, value)
    for condition in contract.after:
        if condition.evaluate is not None and not condition.evaluate(names):
            return Behaviour("broken", condition.expr_source, value)
    return Behaviour("returned", value=value)
