import pytest

from agentbench.models.formats.registry import ApiRoute
from agentbench.models.gateway.recording import request_digest
from agentbench.models.gateway.upstream import ProviderRequest
from agentbench.models.interface import ApiFormat


def digest(
    content: object, *, model: str = "m", wire: ApiFormat = ApiFormat.OPENAI_CHAT, **more: object
):
    request = {"messages": [{"role": "user", "content": content}], **more}
    return request_digest(
        ProviderRequest(route=ApiRoute(api_format=wire), model=model, request=request, body=b"")
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 2026-01-02T03:04:05.678Z", "at 2026-11-22T13:14:15.000Z"),
        ("today is 2026-01-02", "today is 2027-03-04"),
        ("1 passed in 0.03s", "1 passed in 12.5s"),
        ("see /tmp/abc123/x.py", "see /tmp/zzz/y"),
        ("call_abc123 said", "call_zzz999 said"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-0000-0000-0000-000000000000"),
        ("<object at 0x7f00aa>", "<object at 0x7fffff>"),
        ("http://127.0.0.1:4000/v1", "http://127.0.0.1:51234/v1"),
        ("commit 0123456789abcdef", "commit fedcba9876543210aa"),
    ],
)
def test_what_differs_from_run_to_run_makes_no_difference(one: str, other: str) -> None:
    assert digest(one) == digest(other)


def test_a_session_makes_no_difference() -> None:
    assert digest("a", metadata={"user_id": "x"}, prompt_cache_key="1") == digest("a")


def test_words_a_model_a_wire_and_options_do() -> None:
    different = [
        digest("a"),
        digest("b"),
        digest("a", model="n"),
        digest("a", wire=ApiFormat.ANTHROPIC_MESSAGES),
        digest("a", stream=True),
        digest("a", tools=[{"name": "look"}]),
        digest("line 12 of 40"),
        digest("line 13 of 40"),
    ]
    assert len({each.words for each in different}) == len(different)


def test_an_outline_is_the_same_for_other_words() -> None:
    assert digest("a").outline == digest("b").outline
    assert digest("a", tools=[1]).outline != digest("a", tools=[1, 2]).outline
    assert digest("a", stream=True).outline != digest("a").outline


def test_the_order_of_fields_makes_no_difference() -> None:
    assert digest("a", x=1, y=2) == digest("a", y=2, x=1)
