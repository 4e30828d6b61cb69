"""`agentbench gateway`."""

import math
from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import options


def gateway(
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    port: Annotated[
        int,
        typer.Option("--port", help="Of 127.0.0.1; 0: any that is free.", min=0, max=65535),
    ] = 0,
    socket: Annotated[
        Path | None, typer.Option("--socket", help="A unix socket instead, made at this path.")
    ] = None,
    max_cost: Annotated[
        float, typer.Option("--max-cost", help="Refuse requests once so many USD are spent.", min=0)
    ] = math.inf,
    prices: options.Prices = None,
    record: options.Record = None,
    replay: options.Replay = None,
    log: Annotated[
        Path | None, typer.Option("--log", help="Write every request and answer to this file.")
    ] = None,
    no_probe: options.NoProbe = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Put a gateway before a model: it counts, prices, limits, records and replays.

    Clients use the address and the token that it prints; the real key stays with it. Until Ctrl-C.

    Example: agentbench gateway --model openai/gpt-5-mini --max-cost 1 --log llm.jsonl
    """
    del debug  # read by the program itself
    from agentbench.extras import GATEWAY, require

    require("the gateway", GATEWAY)
    from agentbench.cli.gateway_serving import GatewayPlan, serve

    plan = GatewayPlan(
        model=model,
        base_url=base_url,
        port=port,
        socket=socket,
        max_cost_usd=max_cost,
        prices=prices,
        record=record,
        replay=replay,
        log=log,
        probe=not no_probe,
    )
    serve(plan, as_json=json)
