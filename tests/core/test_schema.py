from datetime import timedelta

import pytest
from pydantic import Field, ValidationError

from agentbench.core.schema import Schema, describe_validation_error


class Value(Schema):
    number: int = 1
    span: timedelta = timedelta(0)


def test_timedelta_is_seconds_in_json():
    value = Value(span=timedelta(minutes=1, milliseconds=250))
    assert value.model_dump(mode="json")["span"] == 60.25
    assert Value.model_validate_json(value.model_dump_json()) == value


class Said(Schema):
    text: str


@pytest.mark.parametrize("number", [*range(32), *range(127, 160), 0x61C, 0x200E, 0x202E, 0x2069])
def test_control_characters_are_escaped_in_json(number: int):
    value = Said(text=f"é 漢 🎈 {chr(number)}")
    written = value.model_dump_json(indent=1)
    assert chr(number) not in written.replace("\n", "")
    assert "é 漢 🎈" in written
    assert Said.model_validate_json(written) == value


class Inner(Schema):
    number: int = Field(default=0, multiple_of=2)


class Outer(Schema):
    inner: Inner = Inner()
    text: str = ""


def described(table: object) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(table)
    return [describe_validation_error(detail, Outer) for detail in caught.value.errors()]


def test_unlisted_fault_has_the_text_of_pydantic():
    assert described({"inner": {"number": 3}}) == [
        "inner.number: 3 Input should be a multiple of 2"
    ]


def test_a_suggestion_comes_from_the_table_that_the_key_is_in():
    assert described({"inner": {"numbr": 2}}) == ["inner.numbr: unknown key; did you mean number?"]
    assert described({"txt": ""}) == ["txt: unknown key; did you mean text?"]


def test_a_long_value_is_cut():
    (fault,) = described({"text": list(range(100))})
    assert len(fault) < 110
    assert fault.startswith("text: [0, 1, ")
    assert fault.endswith("... is not a string")


def test_a_password_in_a_value_is_not_repeated():
    (fault,) = described({"inner": "https://me:s3cr3t@host/"})
    assert fault == "inner: 'https://host/' is not a table"
