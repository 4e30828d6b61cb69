from datetime import timedelta

import pytest
from pydantic import ValidationError

from agentbench.core.schema import Schema


class Value(Schema):
    number: int = 1
    span: timedelta = timedelta(0)


def test_a_value_does_not_change():
    value = Value()
    with pytest.raises(ValidationError, match="frozen"):
        value.number = 2
    assert hash(value) == hash(Value())


def test_a_field_that_nobody_knows_is_refused_by_name():
    with pytest.raises(ValidationError, match="nubmer"):
        Value.model_validate({"nubmer": 2})


def test_a_time_span_is_seconds_in_json_and_comes_back():
    value = Value(span=timedelta(minutes=1, milliseconds=250))
    assert value.model_dump(mode="json")["span"] == 60.25
    assert Value.model_validate_json(value.model_dump_json()) == value


class Said(Schema):
    text: str


@pytest.mark.parametrize("number", [*range(32), *range(127, 160), 0x61C, 0x200E, 0x202E, 0x2069])
def test_control_characters_are_escaped_in_json_and_come_back(number: int):
    value = Said(text=f"é 漢 🎈 {chr(number)}")
    written = value.model_dump_json(indent=1)
    assert chr(number) not in written.replace("\n", "")
    assert "é 漢 🎈" in written
    assert Said.model_validate_json(written) == value
