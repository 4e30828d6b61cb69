from datetime import UTC, datetime

from agentbench.models.formats.registry import ApiRoute
from agentbench.models.gateway.exchange_log import MAX_LOGGED_ANSWER, ModelExchange
from agentbench.models.interface import ApiFormat


def test_so_much_of_an_answer_is_kept() -> None:
    route = ApiRoute(api_format=ApiFormat.OPENAI_CHAT)
    now = datetime.now(UTC)
    exchange = ModelExchange(time=now, started=0, route=route, path="/", model="m", request={})
    for _ in range(5):
        exchange.log_answer(b"x" * (1 << 20))
    assert len(exchange.answer) == MAX_LOGGED_ANSWER
    assert exchange.left_out == 1 << 20
    assert exchange.format.api_format is ApiFormat.OPENAI_CHAT
