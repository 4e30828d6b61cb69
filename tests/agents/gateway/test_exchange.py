from datetime import UTC, datetime

from agentbench.agents.gateway.exchange import KEPT_OF_ANSWER, Exchange
from agentbench.agents.gateway.wires.known import Route
from agentbench.agents.model_door import Wire


def test_so_much_of_an_answer_is_kept() -> None:
    route = Route(wire=Wire.OPENAI_CHAT)
    now = datetime.now(UTC)
    exchange = Exchange(time=now, started=0, route=route, path="/", model="m", request={})
    for _ in range(5):
        exchange.keep(b"x" * (1 << 20))
    assert len(exchange.answer) == KEPT_OF_ANSWER
    assert exchange.left_out == 1 << 20
    assert exchange.format.wire is Wire.OPENAI_CHAT
