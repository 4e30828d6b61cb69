"""The gateway by itself: one model endpoint for whoever has its token, until told to stop."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import typer

from agentbench.cli.process_setup import ExitCode, raise_keyboard_interrupt_on_signals
from agentbench.core.display_text import printable
from agentbench.core.gc_tuning import restore
from agentbench.errors import UsageError
from agentbench.models.gateway.gateway import GatewayEndpoint, run_gateway
from agentbench.models.gateway.http_server import tcp_listener, unix_listener
from agentbench.models.gateway.providers import ProviderAccess, resolve_model
from agentbench.models.gateway.recording import read_recording
from agentbench.models.interface import ModelTraffic
from agentbench.models.model_catalogue import known_prices, load_prices

_POLL_INTERVAL_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayPlan:
    """What the command line asks for."""

    model: str | None  # not needed for a replay
    base_url: str | None
    port: int
    socket: Path | None
    max_cost_usd: float
    prices: Path | None
    record: Path | None
    replay: Path | None
    log: Path | None
    probe: bool


def serve_gateway(plan: GatewayPlan, *, as_json: bool) -> None:
    """Answer until Ctrl-C, then say what was used."""
    raise_keyboard_interrupt_on_signals()
    prices = load_prices(plan.prices) if plan.prices is not None else known_prices()
    endpoints, model = _resolve_model(plan)
    facts: ModelTraffic | None = None
    try:
        with (
            run_gateway(
                endpoints, model=model, prices=prices, record=plan.record, replay=plan.replay
            ) as gateway,
            _listening(plan) as listener,
        ):
            if plan.probe:
                gateway.probe()
            with gateway.open_endpoint_on(
                listener,
                budget_usd=plan.max_cost_usd,
                log=plan.log,
                lane="",
                path=plan.socket or Path(),
            ) as endpoint:
                try:
                    _announce(endpoint, _address(listener), as_json=as_json)
                    restore()
                    _wait()
                finally:
                    facts = endpoint.traffic()
    except KeyboardInterrupt:
        if facts is not None:
            _print_usage(facts)
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _wait() -> None:
    """Until a signal comes. A kernel may give it to another thread, and nothing wakes this one."""
    while True:
        time.sleep(_POLL_INTERVAL_S)


def _resolve_model(plan: GatewayPlan) -> tuple[ProviderAccess | None, str]:
    if plan.replay is not None:
        return None, read_recording(plan.replay).head.model
    if plan.model is None:
        raise UsageError("a gateway needs --model, as in --model openai/NAME, or --replay")
    found = resolve_model(plan.model, environ=os.environ, base_url=plan.base_url)
    return found.endpoints, found.model


@contextmanager
def _listening(plan: GatewayPlan) -> Iterator[socket.socket]:
    where = plan.socket or f"127.0.0.1:{plan.port}"
    try:
        if plan.socket is not None:
            listener = unix_listener(plan.socket)
        else:
            listener = tcp_listener(plan.port)
    except OSError as fault:
        raise UsageError(f"cannot listen on {where}: {fault.strerror or fault}") from fault
    with listener:
        try:
            yield listener
        finally:
            if plan.socket is not None:
                with suppress(FileNotFoundError):
                    plan.socket.unlink()


def _address(listener: socket.socket) -> str:
    if listener.family == socket.AF_UNIX:
        return f"unix:{listener.getsockname()}"
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def _announce(endpoint: GatewayEndpoint, address: str, *, as_json: bool) -> None:
    if as_json:
        told = {"base_url": address, "token": endpoint.token, "model": endpoint.model}
        typer.echo(
            json.dumps({**told, "wires": sorted(wire.value for wire in endpoint.api_formats)})
        )
        return
    typer.echo(
        f"{endpoint.model} on {address}, for clients with this key: {endpoint.token}\n"
        f"  OPENAI_BASE_URL={address}/v1 ANTHROPIC_BASE_URL={address} "
        f"GOOGLE_GEMINI_BASE_URL={address}\n"
        "Ctrl-C ends it.",
        err=True,
    )


def _print_usage(facts: ModelTraffic) -> None:
    usage = facts.usage
    cost = "cost not known" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
    lines = [
        f"{usage.requests} requests, {usage.input_tokens} tokens in ({usage.cached_tokens} "
        f"cached), {usage.output_tokens} out, {cost}"
    ]
    if facts.errors:
        counted = ", ".join(f"{count} {kind.value}" for kind, count in facts.errors.items())
        lines.append(f"errors: {counted}")
    lines += [f"{each.rule}: {each.where}: {each.what}" for each in facts.findings]
    typer.echo("\n".join(printable(line) for line in lines), err=True)
