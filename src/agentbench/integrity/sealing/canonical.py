"""Canonical values: the recording of a value in a sandbox, as a typed tree equal only to itself.

The form in JSON is described in `agentbench_canonical`, which writes it. It comes from code under
test, so nothing in it is trusted; malformed parts become `Unreadable`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from agentbench.core import untrusted_json
from agentbench.core.schema import JsonObject
from agentbench.scoring.evidence import NodeId
from agentbench.test_runs.mounted.agentbench_canonical import canonical_form
from agentbench.test_runs.mounted.agentbench_canonical_bounds import digest

CONTENT_LIMIT = 20 * 1024 * 1024
"""The most bytes of a file of recordings; the recorder stops at 16 MiB."""

_LINE_LIMIT = 2 * 1024 * 1024
_RECORDING_LIMIT = 500_000
_DEEPEST = 100
_GROUPS = frozenset(
    ("list", "tuple", "set", "frozenset", "deque", "dict", "ordered", "keys", "values", "pair",
     "range", "slice", "date", "time", "datetime", "timedelta", "decimal", "fraction", "uuid",
     "path", "pattern", "class", "function", "module", "call", "constant", "token")
)  # fmt: skip
_BRACKETS = {"list": "[]", "tuple": "()", "set": "{}", "dict": "{}", "ordered": "{}"}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MOST_BITS_SHOWN = 4000  # in decimal; str() refuses huge numbers
_DECIMAL = re.compile(r"[+-]?(\d{1,1000}(\.\d{0,1000})?(E[+-]?\d{1,19})?|s?NaN\d{0,99}|Infinity)")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A single value: None, a bool, a number, a text, bytes; or how many levels up a cycle goes."""

    kind: str
    value: str | bytes | float | complex | None


@dataclass(frozen=True, slots=True)
class Digest:
    """A value, or the rest of a sequence, that was too large to record."""

    sha256: str
    count: int  # its nodes, or the items of the rest


@dataclass(frozen=True, slots=True)
class Group:
    """A container, or a value of the standard library with its parts; a dict has pairs."""

    kind: str
    items: tuple["CanonicalValue", ...]
    rest: Digest | None = None


@dataclass(frozen=True, slots=True)
class Instance:
    """An object that is not exactly of a built-in type."""

    kind: str
    types: tuple[str, ...]  # its class and the bases of its class
    base: "CanonicalValue | None" = None  # of a subclass of a built-in type
    public: tuple[tuple[str, "CanonicalValue"], ...] = ()
    private: tuple[tuple[str, "CanonicalValue"], ...] = ()
    disclosures: tuple[tuple[str, "CanonicalValue"], ...] = ()

    @property
    def name(self) -> str:
        return last_part(self.types[0]) if self.types else "?"

    def disclosed(self, name: str) -> "CanonicalValue | None":
        """The result of one of its methods, for example of `str`."""
        return dict(self.disclosures).get(name)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value that could not be recorded, or a malformed recording; it equals nothing."""


CanonicalValue: TypeAlias = Leaf | Group | Instance | Digest | Unreadable


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording of one place of a sealed test."""

    site: int
    values: tuple[CanonicalValue, ...] = ()
    raised: CanonicalValue | None = None  # the exception
    warned: tuple[CanonicalValue, ...] | None = None
    is_error: bool = False  # whether an exception was expected here


def of_python(value: object) -> CanonicalValue:
    """The canonical value of a constant of the host, as a sandbox would record it."""
    return parse_canonical(canonical_form(value))


def last_part(dotted: str) -> str:
    """The last part of a qualified name."""
    return dotted.rpartition(".")[2]


def digest_of(value: CanonicalValue) -> str:
    """The digest of a value; equal for values that Python calls equal."""
    return digest(to_json(value))


def to_json(value: CanonicalValue) -> list[object]:
    """The form of a value, to store it."""
    match value:
        case Leaf(kind="back", value=int(levels)):
            return ["back", levels]
        case Leaf(kind="bytearray", value=bytes(data)):
            return ["bytearray", data.hex()]
        case Leaf(value=single):
            return list(canonical_form(single))
        case Digest(sha256=sha256, count=count):
            return ["digest", sha256, count]
        case Group(kind=kind, items=items, rest=rest):
            tail = [] if rest is None else [["rest", rest.sha256, rest.count]]
            return [kind, *map(to_json, items), *tail]
        case Instance():
            base = None if value.base is None else to_json(value.base)
            states = (
                [[name, to_json(part)] for name, part in state]
                for state in (value.public, value.private)
            )
            said = {name: to_json(part) for name, part in value.disclosures}
            return ["object", value.kind, list(value.types), base, *states, said]
        case Unreadable():
            return ["cut"]


def parse_canonical(form: object, depth: int = _DEEPEST) -> CanonicalValue:
    """The value of a form from untrusted JSON; parts that are malformed are `Unreadable`."""
    if depth == 0:
        return Unreadable()
    match form:
        case ["object", str(kind), list(types), base, list(public), list(private), dict(said)]:
            try:
                return Instance(
                    kind=kind,
                    types=tuple(untrusted_json.text(name, 1000) for name in types[:100]),
                    base=None if base is None else parse_canonical(base, depth - 1),
                    public=_state(public, depth - 1),
                    private=_state(private, depth - 1),
                    disclosures=_state(([name, part] for name, part in said.items()), depth - 1),
                )
            except ValueError:
                return Unreadable()
        case ["digest", str(sha256), int(count)] if _SHA256.fullmatch(sha256):
            return Digest(sha256, count)
        case [str(kind), *parts] if kind in _GROUPS:
            return _group(kind, parts, depth - 1)
        case ["none"]:
            return Leaf("none", None)
        case ["bool", bool(single)]:
            return Leaf("bool", single)
        case ["str", str(text)]:
            return Leaf("str", text)
        case ["back", int(levels)] if not isinstance(levels, bool):
            return Leaf("back", levels)
        case [str(kind), *parts] if kind in _WRITTEN:
            try:
                return Leaf("str" if kind == "wide" else kind, _WRITTEN[kind](*parts))
            except (TypeError, ValueError, OverflowError):
                return Unreadable()
        case _:
            return Unreadable()


def _group(kind: str, parts: list[object], depth: int) -> CanonicalValue:
    rest = None
    match parts[-1:]:
        case [["rest", str(sha256), int(count)]] if _SHA256.fullmatch(sha256):
            rest = Digest(sha256, count)
            parts = parts[:-1]
        case _:
            pass
    group = Group(kind, tuple(parse_canonical(part, depth) for part in parts), rest)
    return group if _is_well_formed(group) else Unreadable()


def _is_well_formed(group: Group) -> bool:
    match group:
        case Group(kind="decimal", items=(Leaf(value=str(text)),)):
            return _DECIMAL.fullmatch(text) is not None
        case Group(kind="fraction", items=(Leaf("int"), Leaf("int", denominator))):
            return isinstance(denominator, int) and denominator > 0
        case Group(kind="pair", items=items):
            return len(items) == 2
        case Group(kind="dict" | "ordered", items=items):
            return all(isinstance(item, Group) and item.kind == "pair" for item in items)
        case Group(kind=kind):
            return kind not in ("decimal", "fraction")


def _state(pairs: Iterable[object], depth: int) -> tuple[tuple[str, CanonicalValue], ...]:
    state = []
    for pair in pairs:
        match pair:
            case [str(name), form]:
                state.append((untrusted_json.text(name, 1000), parse_canonical(form, depth)))
            case _:
                raise ValueError
    return tuple(state)


# Reads the values that the recorder writes as text.
_WRITTEN: Mapping[str, Callable[..., "str | bytes | complex"]] = {
    "int": lambda text: int(text, 16),
    "float": float.fromhex,
    "complex": lambda real, imaginary: complex(float.fromhex(real), float.fromhex(imaginary)),
    "wide": lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
    "bytes": bytes.fromhex,
    "bytearray": bytes.fromhex,
}


def read_recordings(content: bytes) -> Mapping[NodeId, tuple[Recording, ...]]:
    """The recordings of each test in order; recordings outside of tests have the id "".

    Lines that are incomplete, foreign or too long are left out, as if nothing had been recorded.
    """
    found: dict[NodeId, list[Recording]] = {}
    lines = content[:CONTENT_LIMIT].split(b"\n")
    for line in lines[:_RECORDING_LIMIT]:
        record = None
        if len(line) <= _LINE_LIMIT:
            record = untrusted_json.json_object(line.decode("utf-8", "replace"))
        recording = None if record is None else recording_of(record)
        if record is not None and recording is not None:
            test = NodeId(untrusted_json.text(record.get("test")))
            found.setdefault(test, []).append(recording)
    return {test: tuple(recordings) for test, recordings in found.items()}


def recording_of(record: JsonObject) -> Recording | None:
    """The recording of one line; None if the line is not a recording."""
    site, forms = record.get("site"), record.get("values", [])
    if not isinstance(site, int) or isinstance(site, bool) or not isinstance(forms, list):
        return None
    values = tuple(map(parse_canonical, forms))
    match record:
        case {"raised": None}:
            return Recording(site, values, is_error=True)
        case {"raised": form}:
            return Recording(site, values, raised=parse_canonical(form), is_error=True)
        case {"warned": list(warned)}:
            return Recording(site, values, warned=tuple(map(parse_canonical, warned)))
        case {"values": _}:
            return Recording(site, values)
        case _:
            return None


def value_text(value: CanonicalValue, limit: int = 200) -> str:
    """A value as a shortened text for people."""
    text = _item_text(value, limit)
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def _item_text(value: CanonicalValue, limit: int) -> str:
    match value:
        case Leaf(kind="back"):
            return "..."
        case Leaf(kind=kind, value=single):
            if isinstance(single, int) and single.bit_length() > _MOST_BITS_SHOWN:
                return hex(single)
            text = repr(single[: limit + 1] if isinstance(single, str | bytes) else single)
            return f"bytearray({text})" if kind == "bytearray" else text
        case Group():
            return _group_text(value, limit)
        case Instance():
            return _instance_text(value, limit)
        case Digest(sha256=sha256, count=count):
            return f"<{count} values, SHA-256 {sha256[:12]}…>"
        case Unreadable():
            return "<unreadable>"


def _group_text(group: Group, limit: int) -> str:
    kind = group.kind
    texts = [_item_text(item, limit) for item in group.items[: limit + 1]]
    if kind == "pair" and len(texts) == 2:
        return ": ".join(texts)
    if kind in ("class", "function", "module", "constant") and texts:
        return last_part(texts[0].strip("'\""))
    texts += [] if group.rest is None else [f"… {group.rest.count} more"]
    if kind == "tuple" and len(texts) == 1:
        return f"({texts[0]},)"
    if kind == "set" and not texts:
        return "set()"
    brackets, inner = _BRACKETS.get(kind), ", ".join(texts)
    return f"{kind}({inner})" if brackets is None else f"{brackets[0]}{inner}{brackets[1]}"


def _instance_text(instance: Instance, limit: int) -> str:
    member = dict(instance.public).get("name")
    if instance.kind == "enum" and isinstance(member, Leaf) and isinstance(member.value, str):
        return f"{instance.name}.{member.value}"
    inner = instance.disclosed("str") if instance.kind == "exception" else instance.base
    if instance.kind in ("exception", "subclass"):
        return f"{instance.name}({'' if inner is None else _item_text(inner, limit)})"
    for method in ("repr", "str"):
        said = instance.disclosed(method)
        if isinstance(said, Leaf) and isinstance(said.value, str):
            return said.value[: limit + 1]
    parts = [f"{name}={_item_text(part, limit)}" for name, part in instance.public[: limit + 1]]
    return f"{instance.name}({', '.join(parts)})"
