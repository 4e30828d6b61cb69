"""The base class of all values that are written to files, and messages about invalid values."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Self

from pydantic import BaseModel, ConfigDict
from pydantic_core import ErrorDetails

from agentbench.core.display_text import without_credentials

JsonObject = dict[str, object]
"""A JSON object from an untrusted source."""

# Characters that JSON does not escape and that change a terminal or the direction of text.
_TERMINAL_CONTROL = re.compile(r"[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_CHOICE = re.compile(r"'(.*)' is not one of (.*)", re.DOTALL)
_QUOTED = re.compile(r"'([^']*)'")
_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "greater_than": "is not above {gt:.10g}",
        "greater_than_equal": "is below {ge:.10g}",
        "less_than": "is not below {lt:.10g}",
        "less_than_equal": "is above {le:.10g}",
        "model_type": "is not a table",
        "dict_type": "is not a table",
        "tuple_type": "is not a list",
        "string_type": "is not a string",
        "string_too_short": "is empty",
        "string_too_long": "is longer than {max_length} characters",
        "string_pattern_mismatch": "does not match {pattern}",
        "bool_type": "is neither true nor false",
        "int_type": "is not a whole number",
        "int_from_float": "is not a whole number",
        "int_parsing": "is not a whole number",
        "int_parsing_size": "is too large",
        "bool_parsing": "is neither true nor false",
        "callable_type": "is not a function",
        "path_type": "is not a path",
        "time_delta_parsing": "is neither a number of seconds nor a timedelta",
        "time_delta_type": "is neither a number of seconds nor a timedelta",
        "float_parsing": "is not a number",
        "float_type": "is not a number",
        "finite_number": "is not a finite number",
        "literal_error": "is not {expected}",
        "enum": "is not {expected}",
        "json_invalid": "expected JSON: {error}",
        "value_error": "{error}",
    }
)


class Schema(BaseModel):
    """A value that is written to disk or sent over a network."""

    # Without `defer_build`, each import of a module with schemas builds all their validators.
    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_timedelta="float", defer_build=True
    )

    def replace(self, **changes: object) -> Self:
        """A copy with other values in some fields; the values are not checked.

        Raises:
            TypeError: there is no such field.
        """
        if unknown := changes.keys() - type(self).model_fields.keys():
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        return self.model_copy(update=changes)

    def model_dump_json(
        self,
        *,
        indent: int | None = None,
        **options: Any,  # noqa: ANN401 - whatever pydantic takes
    ) -> str:
        """The value as JSON in which every control character is escaped."""
        # Records contain what agents wrote; `cat` of one must not send commands to the terminal.
        text = super().model_dump_json(indent=indent, **options)
        return _TERMINAL_CONTROL.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def describe_validation_error(detail: ErrorDetails, root: type[Schema]) -> str:
    """The key, the value that was found, and the fault in it; `root` has the valid keys."""
    parts = [str(part) for part in detail["loc"]]
    # pydantic puts the tag of a union into the path, which is no key of the file.
    if parts[:2] == ["tests", "pass_to_pass"] or parts[1:2] == ["network"]:
        del parts[2:3]
    if parts[1:2] == ["env"] and parts[3:] == ["[key]"]:
        del parts[3:]
    kind, where = detail["type"], ".".join(parts)
    if kind == "missing":
        return f"{where}: is missing"
    if kind == "extra_forbidden":
        return f"{where}: unknown key{_suggestion(detail, root)}"
    message = _message_of(detail)
    # Such a message is about the table, or names the value itself.
    if message.startswith(("needs", "with", "takes", "expected")):
        return f"{where}: {message}" if where else message
    return f"{f'{where}: ' if where else ''}{_shortened_repr(detail['input'])} {message}"


def describe_wrong_value(detail: ErrorDetails) -> str:
    """The value that was found, and the fault in it, without the name of the key."""
    message = _message_of(detail)
    if detail["type"] == "value_error":  # our own message, or a choice; both name the value
        choice = _CHOICE.fullmatch(message)
        close = get_close_matches(choice[1], _QUOTED.findall(choice[2]), n=1) if choice else []
        return f"{message.removesuffix('.')}; did you mean {close[0]!r}?" if close else message
    return f"{_shortened_repr(detail['input'])} {message}"


def _message_of(detail: ErrorDetails) -> str:
    kind = detail["type"]
    if kind not in _MESSAGES:
        return detail["msg"]
    return _MESSAGES[kind].format_map(detail.get("ctx", {}))


def _shortened_repr(value: object) -> str:
    try:
        text = without_credentials(repr(value))
    except (ValueError, RecursionError):  # a number of too many digits, or a list of lists of …
        return "a huge value"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _suggestion(detail: ErrorDetails, root: type[Schema]) -> str:
    table = root
    for part in detail["loc"][:-1]:
        field = table.model_fields.get(str(part))
        if field is None or not isinstance(field.annotation, type):
            return ""
        table = field.annotation
    known = list(table.model_fields)
    key = str(detail["loc"][-1])
    if close := get_close_matches(key, known, n=1):
        return f"; did you mean {close[0]}?"
    # A table that was commented in above keys takes them over.
    for name, field in root.model_fields.items():
        owner = field.annotation
        if not isinstance(owner, type) or not issubclass(owner, Schema) or owner is table:
            continue
        if key in owner.model_fields:
            return f"; it belongs to [{name}]"
    return f"; known here: {', '.join(known)}" if known else ""
