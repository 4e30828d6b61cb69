"""Programs to try, made by hypothesis from what a callable takes, as lists of statements.

Every value is made as the source text that makes it, so that a program reads the same in any tree.
"""

from __future__ import annotations

import ast
import dataclasses
import keyword
import re
from typing import Any

from agentbench_worker import THIS
from hypothesis import strategies as st

_MOST = 5  # items of a container
_HUGE = 1e12  # beyond, rounding alone makes differences
_STEPS = 6
_LETTERS = "abcABCxyz019 _-.,"
_WORDS = ("", "a", "ab", "A b", "é")
_ODD = ("²", "ß", "\u0131", "\u0661", "\u00a0", "e\u0301", "\x00", "\t", "\r\n", "0\n", "-1", "1_0")
_NAMES = ("a", "b", "x", "y", "name", "key")
_ANY_NUMBER = 6  # of arguments
_LONG = 80  # characters of a text
_PATTERN_SIGNS = re.compile(r"[\^$\\\[]|\.[*+?]")


class NoInputsError(Exception):
    """Nothing can be made of a type."""


@dataclasses.dataclass(frozen=True)
class Words:
    """Literals that code and tests use: what matters to them is near these."""

    ints: tuple[int, ...]
    floats: tuple[float, ...]
    texts: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]
    special: bool  # the code speaks of nan or infinity
    anything: bool  # texts need not be any that somebody would give

    @classmethod
    def of(cls, literals: list[str], sources: list[str], *, anything: bool = False) -> Words:
        """Sort literals by their kind."""
        values = [value for text in literals for value in _value(text)]
        ints = [one for one in values if type(one) is int]
        texts = [one for one in values if type(one) is str and len(one) <= _LONG]
        searching = any("re." in source or "match(" in source for source in sources)
        return cls(
            ints=tuple(dict.fromkeys(near for one in ints for near in (one, one - 1, one + 1))),
            floats=tuple(one for one in values if type(one) is float and abs(one) < _HUGE),
            texts=tuple(texts),
            patterns=tuple(one for text in texts for one in _pattern(text)) if searching else (),
            special=any(map(_speaks_of_nan, sources)),
            anything=anything,
        )


def _speaks_of_nan(source: str) -> bool:
    if any(word in source for word in ("nan", "inf", "isfinite")):
        return True
    return re.search(r"\b(\w+) [!=]= \1\b", source) is not None  # as only nan is not itself


def _pattern(text: str) -> tuple[re.Pattern[str], ...]:
    """A literal as a regular expression, where it looks like one."""
    if not _PATTERN_SIGNS.search(text):
        return ()
    try:
        return (re.compile(text, re.ASCII),)
    except (re.error, RecursionError, OverflowError):
        return ()


def _value(text: str) -> tuple[Any, ...]:
    try:
        return (ast.literal_eval(text),)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ()


def programs(described: dict[str, Any], words: Words) -> st.SearchStrategy[list[str]]:
    """Programs that end in the callable, or use its object in several steps.

    Raises:
        NoInputsError: a parameter is of a type that nothing is known to make.
    """
    inputs = Inputs(words)
    if described["kind"] == "function":
        return inputs.call(THIS, described["params"])
    method = described.get("method")
    if method is not None and method["static"]:
        return inputs.call(f"{THIS}.{method['name']}", method["params"])
    return inputs.steps(described)


class Inputs:
    """Makes strategies of source text."""

    def __init__(self, words: Words) -> None:
        """Take what the code in question speaks of."""
        self.words = words
        self.imports: set[str] = set()

    def call(self, name: str, params: list[dict[str, Any]]) -> st.SearchStrategy[list[str]]:
        """One call; arguments that it may change have names, to be looked at afterwards."""
        return self.arguments(params).map(lambda texts: [*self._needed(), *_named(name, texts)])

    def steps(self, described: dict[str, Any]) -> st.SearchStrategy[list[str]]:
        """An object made, and used; the method in question is among the steps, or the last."""
        made = self.made(described, THIS)
        own = described.get("method")
        name = described.get("name_of_method")
        others = [self._use(one) for one in described["others"] if self._can(one)]
        wanted = self._use(own) if own else st.just(f"it.{name}") if name else None
        if wanted is None and not others:
            return made.map(lambda text: [*self._needed(), text])
        each = st.one_of([one for one in (wanted, *others) if one is not None])
        many = st.lists(each, max_size=_STEPS)
        if wanted is None:
            return st.tuples(made, many).map(lambda both: self._used(both[0], both[1]))
        return st.tuples(made, many, wanted).map(
            lambda all_: self._used(all_[0], [*all_[1], all_[2]])
        )

    def _used(self, made: str, uses: list[str]) -> list[str]:
        return [*self._needed(), f"it = {made}", *uses]

    def _needed(self) -> list[str]:
        return [f"import {name}" for name in sorted(self.imports)]

    def _use(self, one: dict[str, Any]) -> st.SearchStrategy[str]:
        if one.get("property"):
            return st.just(f"it.{one['name']}")
        return self.arguments(one["params"]).map(
            lambda texts: f"it.{one['name']}({', '.join(texts)})"
        )

    def _can(self, one: dict[str, Any]) -> bool:
        try:
            self._use(one)
        except NoInputsError:
            return False
        return True

    def arguments(self, params: list[dict[str, Any]]) -> st.SearchStrategy[list[str]]:
        """The texts of a call's arguments."""
        taken = {one["name"] for one in params}
        return st.tuples(*[self._argument(one, taken) for one in params]).map(_in_order)

    def _argument(self, one: dict[str, Any], taken: set[str]) -> st.SearchStrategy[list[str]]:
        if one["how"] == "any_name":
            return self._any_names(one, taken)
        if one.get("optional"):
            try:
                value = self.of(one["type"])
            except NoInputsError:
                return st.just([])
            return st.one_of(st.just([]), value.map(lambda text: [f"{one['name']}={text}"]))
        value = self.of(one["type"])
        if one["how"] == "many":
            return st.lists(value, max_size=_ANY_NUMBER)
        prefix = f"{one['name']}=" if one["how"] == "name" else ""
        return value.map(lambda text: [prefix + text])

    def _any_names(self, one: dict[str, Any], taken: set[str]) -> st.SearchStrategy[list[str]]:
        known = (*self.words.texts, *_NAMES)
        free = [name for name in dict.fromkeys(known) if _is_name(name) and name not in taken]
        try:
            value = self.of(one["type"])
        except NoInputsError:
            return st.just([])
        pairs = st.dictionaries(st.sampled_from(free), value, max_size=_MOST)
        return pairs.map(lambda found: [f"{name}={text}" for name, text in found.items()])

    def made(self, found: dict[str, Any], name: str) -> st.SearchStrategy[str]:
        """The text that makes an object of a class."""
        ways = [(name, found["init"])]
        ways += [(f"{name}.{maker['name']}", maker["params"]) for maker in found["makers"]]
        made, why = [], None
        for way, params in ways:
            try:
                made.append(
                    self.arguments(params).map(lambda texts, way=way: f"{way}({', '.join(texts)})")
                )
            except NoInputsError as error:
                why = why or error
        if not made:
            raise why or NoInputsError(f"{name} cannot be made")
        return st.one_of(made)

    def of(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        """The text of a value of some type.

        Raises:
            NoInputsError: nothing is known to make one.
        """
        kind = wanted["t"]
        simple = getattr(self, f"_{kind}", None)
        if simple is None:
            said = (
                f"a parameter of type {wanted.get('name', '?')}"
                if kind == "unknown"
                else "a parameter without a type"
            )
            raise NoInputsError(f"{said}: nothing is known to make one")
        found: st.SearchStrategy[str] = simple(wanted)
        return found

    def _none(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        return st.just("None")

    def _bool(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        return st.booleans().map(repr)

    def _int(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        ways = [st.integers(-8, 16), st.integers(-1000, 1000)]
        return st.one_of([*ways, *_one_of(self.words.ints)]).map(repr)

    def _float(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        # Eighths: their sums and products are exact, so that the order of them is no difference.
        eighths = st.integers(-8000, 8000).map(lambda eighth: eighth / 8)
        whole = st.integers(-8, 16).map(float)
        known = [float(one) for one in self.words.ints if abs(one) < 1 << 53] + list(
            self.words.floats
        )
        found = st.one_of([whole, eighths, *_one_of(tuple(known))]).map(_float_text)
        return st.one_of(found, st.sampled_from(_SPECIAL)) if self.words.special else found

    def _str(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        known = tuple(dict.fromkeys((*self.words.texts, *_WORDS)))
        letters = sorted({*_LETTERS, *"".join(self.words.texts)})
        short = st.text(st.sampled_from(letters), max_size=12)
        word = st.sampled_from(known)
        few = st.text(st.sampled_from("ab,"), max_size=8)  # so that two of them have much in common
        joined = st.lists(st.one_of(word, short), min_size=2, max_size=4).map("".join)
        # Texts of one program often differ in a sign alone: what is compared is near to the other.
        near = _changed(st.shared(word, key="word"), letters)
        ways = [short, few, word, near, near, joined, *self._matching()]
        if self.words.anything:
            ways += [st.sampled_from(_ODD), st.text(max_size=4)]
        return st.one_of(ways).map(repr)

    def _matching(self) -> list[st.SearchStrategy[str]]:
        """Texts that the code's own regular expressions match: as a whole, or nearly."""
        ascii_ = st.characters(max_codepoint=126, min_codepoint=9)
        found = []
        for pattern in self.words.patterns:
            strategy = st.from_regex(pattern, fullmatch=False, alphabet=ascii_)
            try:
                strategy.validate()
            except Exception:  # noqa: BLE001 - a sign that this alphabet does not have, or anything
                continue
            found.append(strategy.filter(lambda text: len(text) <= _LONG))
        return found

    def _bytes(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        return st.binary(max_size=12).map(repr)

    def _decimal(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        self.imports.add("decimal")
        return st.integers(-100_000, 100_000).map(lambda n: f"decimal.Decimal({str(n / 100)!r})")

    def _fraction(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        self.imports.add("fractions")
        parts = st.tuples(st.integers(-50, 50), st.integers(1, 12))
        return parts.map(lambda both: f"fractions.Fraction({both[0]}, {both[1]})")

    def _datetime(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        self.imports.add("datetime")
        zone = st.sampled_from(("", ", tzinfo=datetime.timezone.utc"))
        day = st.tuples(st.integers(1999, 2030), st.integers(1, 12), st.integers(1, 28))
        clock = st.tuples(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
        return st.tuples(day, clock, zone).map(
            lambda all_: f"datetime.datetime({', '.join(map(str, all_[0] + all_[1]))}{all_[2]})"
        )

    def _date(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        self.imports.add("datetime")
        day = st.tuples(st.integers(1999, 2030), st.integers(1, 12), st.integers(1, 28))
        return day.map(lambda parts: f"datetime.date({', '.join(map(str, parts))})")

    def _time(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        self.imports.add("datetime")
        clock = st.tuples(st.integers(0, 23), st.integers(0, 59))
        return clock.map(lambda both: f"datetime.time({both[0]}, {both[1]})")

    def _timedelta(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        self.imports.add("datetime")
        seconds = st.one_of(st.integers(-10, 100), st.integers(-100_000, 1_000_000))
        return seconds.map(lambda n: f"datetime.timedelta(seconds={n})")

    def _tzinfo(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        self.imports.add("datetime")
        hours = st.integers(-12, 14)
        return hours.map(lambda n: f"datetime.timezone(datetime.timedelta(hours={n}))")

    def _path(self, _wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        self.imports.add("pathlib")
        parts = st.lists(st.sampled_from(("a", "b.py", "..", "x y", ".c")), max_size=3)
        start = st.sampled_from(("", "/"))
        both = st.tuples(start, parts.map("/".join))
        return both.map(lambda all_: f"pathlib.PurePosixPath({''.join(all_)!r})")

    def _choice(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        if wanted.get("import"):
            self.imports.add(wanted["import"])
        return st.sampled_from(wanted["of"])

    def _union(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        made, why = [], NoInputsError("a union of nothing")
        for one in wanted["of"]:
            try:
                made.append(self.of(one))
            except NoInputsError as error:
                why = error
        if not made:
            raise why
        return st.one_of(made)

    def _list(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        return self._several(wanted).map(lambda texts: f"[{', '.join(texts)}]")

    def _iterator(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        return self._several(wanted).map(lambda texts: f"iter([{', '.join(texts)}])")

    def _set(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        return self._several(wanted).map(
            lambda texts: f"{{{', '.join(texts)}}}" if texts else "set()"
        )

    def _frozenset(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        return self._several(wanted).map(lambda texts: f"frozenset([{', '.join(texts)}])")

    def _tuple(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        return self._several(wanted).map(
            lambda texts: f"({', '.join(texts)}{',' * (len(texts) == 1)})"
        )

    def _row(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        parts = st.tuples(*[self._or_int(one) for one in wanted["of"]])
        return parts.map(lambda texts: f"({', '.join(texts)}{',' * (len(texts) == 1)})")

    def _dict(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        keys = self.of(wanted["keys"]) if wanted["keys"]["t"] != "missing" else self._str({})
        pairs = st.lists(st.tuples(keys, self._or_int(wanted["values"])), max_size=_MOST)
        return pairs.map(
            lambda found: f"{{{', '.join(f'{key}: {value}' for key, value in found)}}}"
        )

    def _record(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        fields = st.tuples(*[self.of(one) for one in wanted["fields"].values()])
        names = list(wanted["fields"])
        return fields.map(
            lambda texts: (
                f"{{{', '.join(f'{n!r}: {t}' for n, t in zip(names, texts, strict=True))}}}"
            )
        )

    def _callable(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        # What it gives does not hang on how often it is called: that is nobody's behaviour.
        return self._or_int(wanted["of"]).map(lambda text: f"lambda *_args, **_named: {text}")

    def _made(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        self.imports.add(wanted["import"])
        return self.made(wanted, wanted["name"])

    def _several(self, wanted: dict[str, Any]) -> st.SearchStrategy[list[str]]:
        return st.lists(self._or_int(wanted["of"]), max_size=_MOST)

    def _or_int(self, wanted: dict[str, Any]) -> st.SearchStrategy[str]:
        return self._int(wanted) if wanted["t"] == "missing" else self.of(wanted)


_SPECIAL = ("float('nan')", "float('inf')", "-float('inf')")


def _float_text(value: float) -> str:
    text = repr(value)
    return f"float({text!r})" if text in ("nan", "inf", "-inf") else text


def _one_of(values: tuple[Any, ...]) -> list[st.SearchStrategy[Any]]:
    return [st.sampled_from(values)] if values else []


def _changed(word: st.SearchStrategy[str], letters: list[str]) -> st.SearchStrategy[str]:
    """A known word with a sign left out, put in or taken in exchange."""
    return st.tuples(word, st.integers(0, 79), st.sampled_from(letters), st.integers(0, 2)).map(
        lambda all_: _change(*all_)
    )


def _change(word: str, at: int, letter: str, how: int) -> str:
    at %= len(word) + 1
    rest = word[at:] if how == 0 else word[at + 1 :]
    return word[:at] + ("" if how == 1 else letter) + rest


def _in_order(arguments: tuple[list[str], ...]) -> list[str]:
    """By position first: an optional one that is left out makes those after it named."""
    found = [text for texts in arguments for text in texts]
    return [one for one in found if not _is_named(one)] + [one for one in found if _is_named(one)]


def _is_name(text: str) -> bool:
    return text.isidentifier() and text.isascii() and not keyword.iskeyword(text)


def _is_named(text: str) -> bool:
    name, equals, rest = text.partition("=")
    return bool(equals) and name.isidentifier() and not rest.startswith("=")


def _named(name: str, texts: list[str]) -> list[str]:
    """The call, with a name for each argument that it could change."""
    program, arguments = [], []
    for at, text in enumerate(texts):
        if text[:1] in "[{" and not _is_named(text):
            program.append(f"arg{at} = {text}")
            arguments.append(f"arg{at}")
        else:
            arguments.append(text)
    return [*program, f"{name}({', '.join(arguments)})"]
