"""Constants written as expressions of equal value and type, so that none stands out."""

from random import Random

from agentbench.stages.verification.mutation.values import Scalar, Value

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LONGEST_TURNED = 60
_MOST_BITS = 1024  # Python refuses to write or read integers of more than 4,300 digits


def disguise(value: Scalar, rng: Random) -> str | None:
    """Write a constant as another expression, in brackets; `None` where it is best left alone."""
    match value:
        case bool():
            return _truth(value, rng)
        case int() | float() | complex():
            return _number(value, rng)
        case str():
            return _text(value, rng)
        case bytes():
            return _bytes(value, rng)
        case None:
            number = rng.randrange(2, 90)
            return rng.choice((f"((None, {number})[0])", f"(({number}, None)[1])"))


def write(value: Value, rng: Random) -> str | None:
    """Write a value, the constants within it disguised; `None` where one cannot be written."""
    match value:
        case dict():
            return _joined("{}", [_pair(key, item, rng) for key, item in value.items()])
        case set():
            ordered = sorted(value, key=repr)  # the order of a set differs between processes
            return _joined("{}", [write(item, rng) for item in ordered]) if value else "(set())"
        case list():
            return _joined("[]", [write(item, rng) for item in value])
        case tuple():
            return _joined("()", [write(item, rng) for item in value])
        case complex() if isinstance(value, complex):
            return f"({value!r})"
        case _:
            return disguise(value, rng)


def _pair(key: Value, item: Value, rng: Random) -> str | None:
    written, of = write(key, rng), write(item, rng)
    return None if written is None or of is None else f"{written}: {of}"


def _joined(brackets: str, items: list[str | None]) -> str | None:
    if None in items:
        return None
    return brackets[0] + "".join(f"{item}, " for item in items) + brackets[1]


def _truth(value: bool, rng: Random) -> str:  # noqa: FBT001 (it is a datum, not a switch)
    low, high = sorted(rng.sample(range(2, 90), 2))
    if value:
        return rng.choice((f"({low} < {high})", f"({high} > {low})", f"({low} != {high})"))
    return rng.choice((f"({low} > {high})", f"({high} < {low})", f"({low} == {high})"))


def _number(value: complex, rng: Random) -> str | None:
    if isinstance(value, float):
        return _real(value, rng)
    if isinstance(value, int) and value.bit_length() <= _MOST_BITS:
        return _integer(value, rng)
    return None


def _integer(value: int, rng: Random) -> str:
    step = rng.randrange(2, 90)
    sum_of, difference = f"({value - step} + {step})", f"({value + step} - {step})"
    return rng.choice((sum_of, difference, difference, f"({value ^ step} ^ {step})"))


def _real(value: float, rng: Random) -> str | None:
    for step in rng.sample((0.25, 0.5, 0.75, 1.0, 1.5, 2.25, 3.5, 4.0, 6.75, 8.5), 4):
        for written, equal in (
            (f"({value + step!r} - {step!r})", (value + step) - step),
            (f"({value - step!r} + {step!r})", (value - step) + step),
        ):
            if _same_real(value, equal):
                return written
    doubled = value * 2
    return f"({doubled!r} / 2)" if _same_real(value, doubled / 2) else None


def _same_real(one: float, other: float) -> bool:
    return one.hex() == other.hex()  # unlike ==, it tells 0.0 from -0.0


def _text(value: str, rng: Random) -> str:
    if len(value) < 2:
        return f"({rng.choice(_LETTERS) + value!a}[1:])"
    if len(value) <= _LONGEST_TURNED and rng.random() < 0.3:
        return f"({value[::-1]!a}[::-1])"
    cut = rng.randrange(1, len(value))
    return f"({value[:cut]!a} + {value[cut:]!a})"


def _bytes(value: bytes, rng: Random) -> str:
    if len(value) < 2:
        return f"({rng.choice(_LETTERS).encode() + value!r}[1:])"
    if len(value) <= _LONGEST_TURNED and rng.random() < 0.3:
        return f"({value[::-1]!r}[::-1])"
    cut = rng.randrange(1, len(value))
    return f"({value[:cut]!r} + {value[cut:]!r})"
