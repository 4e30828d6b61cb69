"""The exchanges of an attempt's `llm.jsonl`, as a trajectory needs them."""

from collections.abc import Iterator
from pathlib import Path

from agentbench.agents.gateway.exchange_log import LoggedExchange, read_exchanges
from agentbench.agents.model_door import ModelFailure, Usage
from agentbench.agents.trajectory.exchange import Exchange


def exchanges_of(log: Path) -> Iterator[Exchange]:
    """What was asked and answered, in the order of the log; token counts alone are left out.

    Raises:
        OSError: the log cannot be read.
    """
    for logged in sorted(read_exchanges(log), key=lambda logged: logged.time):
        if not logged.counts_only:
            yield _exchange(logged)


def _exchange(logged: LoggedExchange) -> Exchange:
    tokens, failure = logged.tokens, None
    if logged.error is not None:
        failure = ModelFailure(kind=logged.error, status=logged.status, message=logged.message)
    return Exchange(
        time=logged.time.isoformat(),
        wire=logged.wire,
        model=logged.model,
        request=logged.request,
        answer=logged.answer,
        usage=Usage(
            requests=1,
            input_tokens=tokens.input if tokens else 0,
            output_tokens=tokens.output if tokens else 0,
            cached_tokens=tokens.cached if tokens else 0,
            cost_usd=logged.cost_usd,
        ),
        failure=failure,
    )
