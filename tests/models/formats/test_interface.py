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


@pytest.mark.parametrize("result", ODD)
@pytest.mark.parametrize("wire", list(ApiFormat))
def test_malformed_payload_raises_no_error(wire: ApiFormat, result) -> None:
    form: FormatAdapter = FORMATS[wire]
    assert form.api_format is wire
    form.tokens(result)
    form.ends(result)
    form.refuses(result)
    form.error(result)
    form.is_extra(result)
    form.amended({**result, "stream": True})


def test_missing_objects_are_empty() -> None:
    assert nested_object({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}
    assert nested_object({"a": 5}, "a", "b") == nested_object(None, "a") == {}
    assert first_object({"a": [{"b": 1}, 2]}, "a") == {"b": 1}
    assert (
        first_object({"a": []}, "a") == first_object({"a": "x"}, "a") == first_object({}, "a") == {}
    )


@pytest.mark.parametrize("wire", sorted(set(ApiFormat) - {ApiFormat.OPENAI_CHAT}))
def test_only_openai_chat_has_its_requests_amended(wire: ApiFormat) -> None:
    assert FORMATS[wire].amended({"stream": True}) is None
    assert not FORMATS[wire].is_extra({})
