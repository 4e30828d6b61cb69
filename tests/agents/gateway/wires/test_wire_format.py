import pytest

from agentbench.agents.gateway.wires.known import FORMATS
from agentbench.agents.gateway.wires.wire_format import WireFormat, first_in, object_in
from agentbench.agents.model_door import Wire

ODD = [
    {},
    {"usage": "x", "choices": "x", "candidates": 5, "response": [], "error": None},
    {"usage": {}, "choices": [None], "candidates": [[]], "output": [{"content": 7}]},
    {"usage": {"prompt_tokens": "many"}, "choices": [{"delta": 5, "message": []}]},
    {"usageMetadata": [], "message": {"usage": 3}, "delta": "x", "stream_options": 7},
]


@pytest.mark.parametrize("said", ODD)
@pytest.mark.parametrize("wire", list(Wire))
def test_nothing_that_a_server_may_write_breaks_the_gateway(wire: Wire, said) -> None:
    form: WireFormat = FORMATS[wire]
    assert form.wire is wire
    form.tokens(said)
    form.ends(said)
    form.refuses(said)
    form.error(said)
    form.is_extra(said)
    form.amended({**said, "stream": True})


def test_what_is_not_there_is_empty() -> None:
    assert object_in({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}
    assert object_in({"a": 5}, "a", "b") == object_in(None, "a") == {}
    assert first_in({"a": [{"b": 1}, 2]}, "a") == {"b": 1}
    assert first_in({"a": []}, "a") == first_in({"a": "x"}, "a") == first_in({}, "a") == {}
