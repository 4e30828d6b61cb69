import pytest

from agentbench.models.formats.interface import FormatAdapter, first_object, nested_object
from agentbench.models.formats.registry import FORMATS
from agentbench.models.interface import ApiFormat

ODD = [
    {},
    {"usage": "x", "choices": "x", "candidates": 5, "response": [], "error": None},
    {"usage": {}, "choices": [None], "candidates": [[]], "output": [{"content": 7}]},
    {"usage": {"prompt_tokens": "many"}, "choices": [{"delta": 5, "message": []}]},
    {"usageMetadata": [], "message": {"usage": 3}, "delta": "x", "stream_options": 7},
]


@pytest.mark.parametrize("said", ODD)
@pytest.mark.parametrize("wire", list(ApiFormat))
def test_nothing_that_a_server_may_write_breaks_the_gateway(wire: ApiFormat, said) -> None:
    form: FormatAdapter = FORMATS[wire]
    assert form.api_format is wire
    form.tokens(said)
    form.ends(said)
    form.refuses(said)
    form.error(said)
    form.is_extra(said)
    form.amended({**said, "stream": True})


def test_what_is_not_there_is_empty() -> None:
    assert nested_object({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}
    assert nested_object({"a": 5}, "a", "b") == nested_object(None, "a") == {}
    assert first_object({"a": [{"b": 1}, 2]}, "a") == {"b": 1}
    assert (
        first_object({"a": []}, "a") == first_object({"a": "x"}, "a") == first_object({}, "a") == {}
    )
