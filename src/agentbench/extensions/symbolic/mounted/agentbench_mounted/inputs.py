"""Programs to try, made by hypothesis as lists of statements, which read the same in any tree."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy as Strategy

from . import messages
from .foreign_code import call_foreign
from .literals import LONGEST_TEXT, KnownLiterals
from .worker import THIS

T = TypeVar("T")

_MOST_ITEMS = 5  # of a container
_STEPS = 6
_LETTERS = "abcABCxyz019 _-.,"
_WORDS = ("", "a", "ab", "A b", "é")
_ODD = ("²", "ß", "\u0131", "\u0661", "\u00a0", "e\u0301", "\x00", "\t", "\r\n", "0\n", "-1", "1_0")
_NAMES = ("a", "b", "x", "y", "name", "key")
_MOST_ARGUMENTS = 6  # of a parameter that takes any number
_SPECIAL = ("float('nan')", "float('inf')", "-float('inf')")
_SMALL_INTS = st.integers(-8, 16)
_DATES = st.tuples(st.integers(1999, 2030), st.integers(1, 12), st.integers(1, 28))
# The modules that the texts of plain types need.
_MODULES = {
    "decimal": "decimal",
    "fraction": "fractions",
    "path": "pathlib",
    **dict.fromkeys(("datetime", "date", "time", "timedelta", "tzinfo"), "datetime"),
}


class NoInputsError(Exception):
    """No values of a type can be made."""


def programs(described: messages.Description, known: KnownLiterals) -> Strategy[list[str]]:
    """Programs that end in the callable, or use its object.

    Raises:
        NoInputsError: no values of a parameter's type can be made.
    """
    inputs = _Inputs(known)
    if described["kind"] == "function":
        return inputs.call(THIS, described["params"])
    method = described.get("method")
    if method is not None and method["static"]:
        return inputs.call(f"{THIS}.{method['name']}", method["params"])
    return inputs.steps(described)


class _Inputs:
    def __init__(self, known: KnownLiterals) -> None:
        self._known = known
        self._modules: set[str] = set()  # to import
        self._kinds: dict[str, Callable[[messages.TypeDescription], Strategy[str]]] = {
            "int": lambda _description: self._int(),
            "float": lambda _description: self._float(),
            "str": lambda _description: self._str(),
            "choice": self._choice,
            "union": self._union,
            "row": self._row,
            "dict": self._dict,
            "record": self._record,
            "callable": self._callable,
            "made": self._instance,
        }

    def call(self, name: str, params: list[messages.Parameter]) -> Strategy[list[str]]:
        """One call. Arguments that the call may change get names, to be compared afterwards."""
        return self._arguments(params).map(
            lambda texts: [*self._imports(), *_named_call(name, texts)]
        )

    def steps(self, described: messages.Description) -> Strategy[list[str]]:
        """An object made and used; the method in question is among the steps, or the last."""
        instances = self._object(THIS, described["init"], described["makers"])
        name, own = described.get("name_of_method"), described.get("method")
        last = self._use(own) if own else st.just(f"it.{name}") if name else None
        uses = [] if last is None else [last]
        for other in described["others"]:
            try:
                uses.append(self._use(other))
            except NoInputsError:
                continue
        if not uses:
            return instances.map(lambda text: [*self._imports(), text])
        before = st.lists(st.one_of(uses), max_size=_STEPS)
        ending = st.just([]) if last is None else last.map(lambda text: [text])
        return st.tuples(instances, before, ending).map(
            lambda parts: [*self._imports(), f"it = {parts[0]}", *parts[1], *parts[2]]
        )

    def _imports(self) -> list[str]:
        return [f"import {name}" for name in sorted(self._modules)]

    def _use(self, method: messages.Method) -> Strategy[str]:
        if method.get("property"):
            return st.just(f"it.{method['name']}")
        return self._called(f"it.{method['name']}", method["params"])

    def _called(self, function: str, params: list[messages.Parameter]) -> Strategy[str]:
        return self._arguments(params).map(lambda texts: f"{function}({', '.join(texts)})")

    def _arguments(self, params: list[messages.Parameter]) -> Strategy[list[str]]:
        used_names = {one["name"] for one in params}
        return st.tuples(*[self._argument(one, used_names) for one in params]).map(_in_order)

    def _argument(self, one: messages.Parameter, used_names: set[str]) -> Strategy[list[str]]:
        name, how, optional = one["name"], one["how"], one.get("optional")
        try:
            value = self._of(one["type"])
        except NoInputsError:
            if optional or how == "any_name":
                return st.just([])
            raise
        if how == "any_name":
            names = dict.fromkeys((*self._known.texts, *_NAMES))
            free = [name for name in names if _is_name(name) and name not in used_names]
            pairs = st.dictionaries(st.sampled_from(free), value, max_size=_MOST_ITEMS)
            return pairs.map(lambda found: [f"{name}={text}" for name, text in found.items()])
        if optional:
            return st.one_of(st.just([]), value.map(lambda text: [f"{name}={text}"]))
        if how == "many":
            return st.lists(value, max_size=_MOST_ARGUMENTS)
        prefix = f"{name}=" if how == "name" else ""
        return value.map(lambda text: [prefix + text])

    def _object(
        self, name: str, init: list[messages.Parameter], makers: list[messages.Method]
    ) -> Strategy[str]:
        strategies: list[Strategy[str]] = []
        first_error: NoInputsError | None = None
        functions = [(name, init), *((f"{name}.{one['name']}", one["params"]) for one in makers)]
        for function, params in functions:
            try:
                strategies.append(self._called(function, params))
            except NoInputsError as error:
                first_error = first_error or error
        if first_error is not None and not strategies:
            raise first_error
        return st.one_of(strategies)

    def _of(self, description: messages.TypeDescription) -> Strategy[str]:
        """The text of a value of some type; raises NoInputsError."""
        kind = description["t"]
        if kind in _CONTAINERS:
            items = st.lists(self._or_int(description["of"]), max_size=_MOST_ITEMS)
            return items.map(_CONTAINERS[kind])
        if kind in _PLAIN:
            if kind in _MODULES:
                self._modules.add(_MODULES[kind])
            return _PLAIN[kind]
        if kind in self._kinds:
            return self._kinds[kind](description)
        if kind == "unknown":
            name = description.get("name", "?")
            raise NoInputsError(f"a parameter of type {name}: no values of it can be made")
        raise NoInputsError("a parameter without a type: no values can be made")

    def _or_int(self, description: messages.TypeDescription) -> Strategy[str]:
        return self._int() if description["t"] == "missing" else self._of(description)

    def _int(self) -> Strategy[str]:
        choices = [_SMALL_INTS, st.integers(-1000, 1000), *_sampled(self._known.ints)]
        return st.one_of(choices).map(repr)

    def _float(self) -> Strategy[str]:
        # Sums and products of eighths are exact, so that their order makes no difference.
        eighths = st.integers(-8000, 8000).map(lambda eighth: eighth / 8)
        ints = [float(one) for one in self._known.ints if abs(one) < 1 << 53]
        known = _sampled((*ints, *self._known.floats))
        found = st.one_of([_SMALL_INTS.map(float), eighths, *known]).map(_float_text)
        return st.one_of(found, st.sampled_from(_SPECIAL)) if self._known.special else found

    def _str(self) -> Strategy[str]:
        words = tuple(dict.fromkeys((*self._known.texts, *_WORDS)))
        letters = sorted({*_LETTERS, *"".join(self._known.texts)})
        short = st.text(st.sampled_from(letters), max_size=12)
        word = st.sampled_from(words)
        few = st.text(st.sampled_from("ab,"), max_size=8)  # two of them have much in common
        joined = st.lists(st.one_of(word, short), min_size=2, max_size=4).map("".join)
        # The texts of a program that compares them often differ in one letter.
        near = _edited(st.shared(word, key="word"), letters)
        # Texts that the code's own regular expressions match or nearly match.
        ascii_only = st.characters(max_codepoint=126, min_codepoint=9)
        found = []
        for pattern in self._known.patterns:
            strategy = st.from_regex(pattern, fullmatch=False, alphabet=ascii_only)
            # A pattern may need letters that the alphabet lacks, or be unsupported.
            if call_foreign(strategy.validate).error is None:
                found.append(strategy.filter(lambda text: len(text) <= LONGEST_TEXT))
        choices = [short, few, word, near, near, joined, *found]
        if self._known.anything:
            choices += [st.sampled_from(_ODD), st.text(max_size=4)]
        return st.one_of(choices).map(repr)

    def _choice(self, description: messages.TypeDescription) -> Strategy[str]:
        if description.get("module"):
            self._modules.add(description["module"])
        return st.sampled_from(description["of"])

    def _union(self, description: messages.TypeDescription) -> Strategy[str]:
        strategies: list[Strategy[str]] = []
        last_error = NoInputsError("a union of nothing")
        for one in description["of"]:
            try:
                strategies.append(self._of(one))
            except NoInputsError as error:
                last_error = error
        if not strategies:
            raise last_error
        return st.one_of(strategies)

    def _row(self, description: messages.TypeDescription) -> Strategy[str]:
        return st.tuples(*[self._or_int(one) for one in description["of"]]).map(_tuple_text)

    def _dict(self, description: messages.TypeDescription) -> Strategy[str]:
        keys = (
            self._str() if description["keys"]["t"] == "missing" else self._of(description["keys"])
        )
        pair = st.tuples(keys, self._or_int(description["values"]))
        return st.lists(pair, max_size=_MOST_ITEMS).map(_dict_text)

    def _record(self, description: messages.TypeDescription) -> Strategy[str]:
        names = [repr(name) for name in description["fields"]]
        values = st.tuples(*[self._of(one) for one in description["fields"].values()])
        return values.map(lambda texts: _dict_text(list(zip(names, texts, strict=True))))

    def _callable(self, description: messages.TypeDescription) -> Strategy[str]:
        # Its value is constant: how often a function is called is no difference.
        return self._or_int(description["of"]).map(lambda text: f"lambda *_args, **_named: {text}")

    def _instance(self, description: messages.TypeDescription) -> Strategy[str]:
        self._modules.add(description["module"])
        return self._object(description["name"], description["init"], description["makers"])


def _tuple_text(texts: Sequence[str]) -> str:
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def _dict_text(pairs: list[tuple[str, str]]) -> str:
    return f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}"


# The texts of containers from those of their items.
_CONTAINERS: Mapping[str, Callable[[list[str]], str]] = {
    "list": lambda texts: f"[{', '.join(texts)}]",
    "iterator": lambda texts: f"iter([{', '.join(texts)}])",
    "set": lambda texts: f"{{{', '.join(texts)}}}" if texts else "set()",
    "frozenset": lambda texts: f"frozenset([{', '.join(texts)}])",
    "tuple": _tuple_text,
}

# The texts of types without parts.
_PLAIN: Mapping[str, Strategy[str]] = {
    "none": st.just("None"),
    "bool": st.booleans().map(repr),
    "bytes": st.binary(max_size=12).map(repr),
    "decimal": st.integers(-100_000, 100_000).map(lambda n: f"decimal.Decimal({str(n / 100)!r})"),
    "fraction": st.tuples(st.integers(-50, 50), st.integers(1, 12)).map(
        lambda parts: f"fractions.Fraction({parts[0]}, {parts[1]})"
    ),
    "datetime": st.tuples(
        _DATES,
        st.tuples(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59)),
        st.sampled_from(("", ", tzinfo=datetime.timezone.utc")),
    ).map(lambda parts: f"datetime.datetime({_numbers(parts[0] + parts[1])}{parts[2]})"),
    "date": _DATES.map(lambda parts: f"datetime.date({_numbers(parts)})"),
    "time": st.tuples(st.integers(0, 23), st.integers(0, 59)).map(
        lambda parts: f"datetime.time({_numbers(parts)})"
    ),
    "timedelta": st.one_of(st.integers(-10, 100), st.integers(-100_000, 1_000_000)).map(
        lambda n: f"datetime.timedelta(seconds={n})"
    ),
    "tzinfo": st.integers(-12, 14).map(
        lambda n: f"datetime.timezone(datetime.timedelta(hours={n}))"
    ),
    "path": st.tuples(
        st.sampled_from(("", "/")),
        st.lists(st.sampled_from(("a", "b.py", "..", "x y", ".c")), max_size=3).map("/".join),
    ).map(lambda parts: f"pathlib.PurePosixPath({''.join(parts)!r})"),
}


def _numbers(parts: tuple[int, ...]) -> str:
    return ", ".join(map(str, parts))


def _float_text(value: float) -> str:
    text = repr(value)
    return f"float({text!r})" if text in ("nan", "inf", "-inf") else text


def _sampled(values: tuple[T, ...]) -> list[Strategy[T]]:
    return [st.sampled_from(values)] if values else []


# A known word with one letter left out, added or replaced.
def _edited(word: Strategy[str], letters: list[str]) -> Strategy[str]:
    def edit(parts: tuple[str, int, str, int]) -> str:
        text, at, letter, how = parts
        at %= len(text) + 1
        rest = text[at:] if how == 0 else text[at + 1 :]
        return text[:at] + ("" if how == 1 else letter) + rest

    letter = st.sampled_from(letters)
    return st.tuples(word, st.integers(0, 79), letter, st.integers(0, 2)).map(edit)


# Positional arguments first: those after an omitted optional one have names.
def _in_order(arguments: tuple[list[str], ...]) -> list[str]:
    return sorted((text for texts in arguments for text in texts), key=_is_named)


def _is_name(text: str) -> bool:
    return text.isidentifier() and text.isascii() and not keyword.iskeyword(text)


def _is_named(text: str) -> bool:
    name, equals, rest = text.partition("=")
    return bool(equals) and name.isidentifier() and not rest.startswith("=")


# The call, with a name for each argument that it could change.
def _named_call(name: str, texts: list[str]) -> list[str]:
    program, arguments = [], []
    for at, text in enumerate(texts):
        if text[:1] in "[{" and not _is_named(text):
            program.append(f"arg{at} = {text}")
            arguments.append(f"arg{at}")
        else:
            arguments.append(text)
    return [*program, f"{name}({', '.join(arguments)})"]
