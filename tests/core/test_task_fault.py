import pytest
from pydantic import Field, ValidationError

from agentbench.core.schema import Schema, describe_validation_error


class Inner(Schema):
    number: int = Field(default=0, multiple_of=2)


class Outer(Schema):
    inner: Inner = Inner()
    text: str = ""


def told(table: object) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(table)
    return [describe_validation_error(detail, Outer) for detail in caught.value.errors()]


def test_a_kind_of_fault_without_words_of_ours_has_pydantics():
    assert told({"inner": {"number": 3}}) == ["inner.number: 3 Input should be a multiple of 2"]


def test_a_suggestion_comes_from_the_table_that_the_key_is_in():
    assert told({"inner": {"numbr": 2}}) == ["inner.numbr: unknown key; did you mean number?"]
    assert told({"txt": ""}) == ["txt: unknown key; did you mean text?"]


def test_a_long_value_is_cut():
    (fault,) = told({"text": list(range(100))})
    assert len(fault) < 110
    assert fault.startswith("text: [0, 1, ")
    assert fault.endswith("... is not a string")


def test_a_password_in_a_value_is_not_repeated():
    (fault,) = told({"inner": "https://me:s3cr3t@host/"})
    assert fault == "inner: 'https://host/' is not a table"
