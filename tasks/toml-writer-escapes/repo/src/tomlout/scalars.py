"""Values that stand on one line: numbers, truth values, dates, strings."""

import datetime
import math

from tomlout import strings
from tomlout.errors import TomlWriteError
from tomlout.layout import Style

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


def scalar(value: object, place: str, style: Style, *, inline: bool) -> str:
    """Return the TOML form of a value that is neither a list nor a mapping.

    Args:
        value: What to write.
        place: Where it is, for messages.
        style: The layout.
        inline: Whether it stands within an inline table, where a line must not break.

    Raises:
        TomlWriteError: TOML has no form for it.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return _integer(value, place)
        case float():
            return _float(value)
        case str():
            return _string(value, place, style, inline=inline)
        case datetime.datetime() | datetime.date() | datetime.time():
            return _moment(value, place)
    raise TomlWriteError(place, f"{_shown(value)} has no form in TOML")


def _integer(value: int, place: str) -> str:
    if not _LOWEST <= value <= _HIGHEST:
        raise TomlWriteError(place, f"{value} does not fit in 64 bits")
    return str(int(value))


def _float(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(float(value))


def _string(value: str, place: str, style: Style, *, inline: bool) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TomlWriteError(place, f"a lone surrogate at character {error.start}") from error
    if "\n" in value and style.multiline and not inline:
        return strings.many_lines(value)
    return strings.one_line(value)


def _moment(value: datetime.date | datetime.time, place: str) -> str:
    if isinstance(value, datetime.time) and value.tzinfo is not None:
        raise TomlWriteError(place, "a time of day with a time zone has no form in TOML")
    return value.isoformat()


def _shown(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
