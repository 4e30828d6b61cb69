"""`agentbench gateway`: one model endpoint for all clients with its token, until it is stopped."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from agentbench.cli.process_setup import ExitCode, raise_keyboard_interrupt_on_signals
from agentbench.cli.serve.server_options import GatewayServerOptions
from agentbench.core.display_text import counted, printable
from agentbench.errors import UsageError
from agentbench.models.gateway.gateway import run_gateway
from agentbench.models.gateway.http_server import tcp_listener, unix_listener
from agentbench.models.gateway.providers import ProviderAccess, resolve_model
from agentbench.models.gateway.recording import read_recording
from agentbench.models.interface import ModelEndpoint, ModelTraffic
from agentbench.models.model_catalogue import known_prices, load_prices

_POLL_INTERVAL_S = 0.2


def serve_gateway(settings: GatewayServerOptions) -> None:
    """Answer until Ctrl-C, then print the usage.

    Raises:
        InputError: a recording or a file of prices cannot be read.
        UsageError: the model is not known, its key or name is refused, or it cannot listen there.
        UnavailableError: the model does not answer.
    """
    raise_keyboard_interrupt_on_signals()
    prices = load_prices(settings.prices) if settings.prices is not None else known_prices()
    endpoints: ProviderAccess | None = None
    if settings.replay is not None:
        model = read_recording(settings.replay).head.model
    elif settings.model is None:
        raise UsageError("a gateway needs --model, as in --model openai/NAME, or --replay")
    else:
        found = resolve_model(settings.model, environ=os.environ, base_url=settings.base_url)
        endpoints, model = found.endpoints, found.model
    if settings.socket is not None and settings.port:
        raise UsageError("--socket and --port contradict each other: each says where to listen")
    if settings.log is not None:
        try:
            settings.log.parent.mkdir(parents=True, exist_ok=True)
            settings.log.open("ab").close()
        except OSError as fault:
            raise UsageError(f"--log {settings.log}: cannot be written: {fault.strerror}") from None
    facts: ModelTraffic | None = None
    try:
        with (
            run_gateway(
                endpoints,
                model=model,
                prices=prices,
                record=settings.record,
                replay=settings.replay,
            ) as gateway,
            _listening(settings) as listener,
        ):
            if not settings.no_probe:
                gateway.probe(say=lambda line: typer.echo(line, err=True))
            with gateway.open_endpoint_on(
                listener,
                budget_usd=settings.max_cost,
                log=settings.log,
                lane="",
                path=settings.socket or Path(),
            ) as endpoint:
                try:
                    is_unix = listener.family == socket.AF_UNIX
                    name = listener.getsockname()
                    address = f"unix:{name}" if is_unix else f"http://127.0.0.1:{name[1]}"
                    _announce(endpoint, address, as_json=settings.as_json)
                    # The kernel may deliver the signal to another thread, so a wait without end
                    # would not be interrupted.
                    while True:
                        time.sleep(_POLL_INTERVAL_S)
                finally:
                    facts = endpoint.traffic()
    except KeyboardInterrupt:
        if facts is not None:
            _print_usage(facts)
        raise typer.Exit(ExitCode.INTERRUPTED) from None


@contextmanager
def _listening(settings: GatewayServerOptions) -> Iterator[socket.socket]:
    path = settings.socket
    where = path or f"127.0.0.1:{settings.port}"
    try:
        listener = tcp_listener(settings.port) if path is None else unix_listener(path)
    except OSError as fault:
        raise UsageError(f"cannot listen on {where}: {fault.strerror or fault}") from fault
    with listener:
        try:
            yield listener
        finally:
            if path is not None:
                path.unlink(missing_ok=True)


def _announce(endpoint: ModelEndpoint, address: str, *, as_json: bool) -> None:
    if as_json:
        document = {
            "base_url": address,
            "token": endpoint.token,
            "model": endpoint.model,
            "wires": sorted(api_format.value for api_format in endpoint.api_formats),
        }
        typer.echo(json.dumps(document))
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
    cost = "cost unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
    lines = [
        f"{counted(usage.requests, 'request')}, {usage.input_tokens} tokens in "
        f"({usage.cached_tokens} cached), {usage.output_tokens} out, {cost}"
    ]
    if facts.errors:
        by_kind = ", ".join(f"{count} {kind.value}" for kind, count in facts.errors.items())
        lines.append(f"errors: {by_kind}")
    lines += [f"{each.rule}: {each.where}: {each.what}" for each in facts.findings]
    typer.echo("\n".join(printable(line) for line in lines), err=True)
