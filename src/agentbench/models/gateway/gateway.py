"""The gateway of a run: a connection to the provider, and an endpoint for each attempt."""

import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from socket import socket

from agentbench.core.owned_folder import owned_folder
from agentbench.core.redaction import Redactor
from agentbench.errors import StorageError, UsageError
from agentbench.models.gateway.endpoint_app import EndpointApplication
from agentbench.models.gateway.exchange_log import ExchangeLog, ModelExchange
from agentbench.models.gateway.forwarding import ForwardingContext
from agentbench.models.gateway.http_server import serve_on, unix_listener
from agentbench.models.gateway.ledger import Ledger
from agentbench.models.gateway.probe import PROBE_SECONDS, probe_model
from agentbench.models.gateway.providers import ProviderAccess
from agentbench.models.gateway.recording import (
    RecordedAnswer,
    RecordingFile,
    RecordingUpstream,
    ReplayedUpstream,
    read_recording,
)
from agentbench.models.gateway.relay import LoopThread
from agentbench.models.gateway.upstream import (
    AnswerLimits,
    LiveUpstream,
    Upstream,
    provider_http_client,
)
from agentbench.models.interface import ApiFormat, ModelTraffic
from agentbench.models.model_catalogue import Prices

_TOKEN_BYTES = 32
_SOCKET = "gateway.sock"
_PATH_LIMIT = 60  # characters of the folder; the name of a socket may have 107 in all


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayEndpoint:
    """The model endpoint of one attempt, as `ModelEndpoint` describes it."""

    model: str
    api_formats: tuple[ApiFormat, ...]
    token: str
    socket: Path
    ledger: Ledger

    def traffic(self) -> ModelTraffic:
        """What has passed so far."""
        return self.ledger.facts()


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayOptions:
    """What a gateway is made of."""

    model: str
    prices: Prices
    endpoints: ProviderAccess | None = None  # none are needed for a replay
    record: Path | None = None  # where all answers are written to
    replay: Path | None = None  # where all answers are taken from
    bounds: AnswerLimits = field(default_factory=AnswerLimits)


class Gateway:
    """Opens doors; safe to use from several threads. Made by `running`."""

    def __init__(self, options: GatewayOptions, upstream: Upstream, loop: LoopThread) -> None:
        self._options = options
        self._upstream = upstream
        self._loop = loop
        self._keep = ExitStack()
        self._folder = self._keep.enter_context(_short_folder())
        self._numbers = count(1)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="agentbench-llm-log")
        self._secrets: frozenset[str] = options.endpoints.keys if options.endpoints else frozenset()
        self._keys = Redactor(self._secrets)

    @property
    def model(self) -> str:
        """The model's name, as its provider knows it."""
        return self._options.model

    @property
    def api_formats(self) -> tuple[ApiFormat, ...]:
        """What can be spoken at its doors, the model's main wire first."""
        return self._upstream.api_formats

    def probe(self, *, seconds: float = PROBE_SECONDS) -> None:
        """Ask the model for a token, to find a bad key or name before anything is paid for.

        Does nothing in a replay.

        Args:
            seconds: How long to wait for the answer.

        Raises:
            UsageError: the key, the model's name or the base URL is wrong.
            UnavailableError: no answer came in that time.
        """
        if self._options.replay is None and self._options.endpoints is not None:
            self._loop.run(
                probe_model(self._options.endpoints, self._options.model, seconds=seconds)
            )

    @contextmanager
    def open_endpoint(
        self, *, budget_usd: float, log: Path, lane: str = ""
    ) -> Iterator[GatewayEndpoint]:
        """A door for one attempt, on a unix socket; what it has open is cut at the end.

        Args:
            budget_usd: What the attempt may spend.
            log: Where the exchanges are written, one JSON line each.
            lane: Names the attempt in a recording.
        """
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        folder.chmod(0o755)
        path = folder / _SOCKET
        try:
            with self.open_endpoint_on(
                unix_listener(path), budget_usd=budget_usd, log=log, lane=lane, path=path
            ) as door:
                yield door
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def open_endpoint_on(
        self, listener: socket, *, budget_usd: float, log: Path | None, lane: str, path: Path
    ) -> Iterator[GatewayEndpoint]:
        """A door on a socket that is bound already."""
        ledger = Ledger(
            model=self.model,
            budget_usd=budget_usd,
            cost_of=self._options.prices.cost_usd,
            free=self._options.replay is not None,
        )
        token = f"agentbench-{secrets.token_urlsafe(_TOKEN_BYTES)}"
        door = GatewayEndpoint(
            model=self.model,
            api_formats=self._upstream.api_formats,
            token=token,
            socket=path,
            ledger=ledger,
        )
        with self._logging(log, token) as finished:
            application = EndpointApplication(
                model=self.model,
                token=token,
                budget_usd=budget_usd,
                lane=lane,
                by=ForwardingContext(
                    upstream=self._upstream,
                    bounds=self._options.bounds,
                    ledger=ledger,
                    keys=self._keys,
                ),
                finished=finished,
            )
            with self._listening(listener, application):
                yield door

    def close(self) -> None:
        """Free what it holds."""
        self._writer.shutdown()
        self._keep.close()

    @contextmanager
    def _listening(self, listener: socket, application: EndpointApplication) -> Iterator[None]:
        opened = AsyncExitStack()

        async def begin() -> None:
            await opened.enter_async_context(serve_on(listener, application))

        self._loop.run(begin())
        try:
            yield
        finally:
            self._loop.run(opened.aclose())

    @contextmanager
    def _logging(self, path: Path | None, token: str) -> Iterator[Callable[[ModelExchange], None]]:
        if path is None:
            yield _discard_exchange
            return
        log = ExchangeLog(path, Redactor({*self._secrets, token}))

        def write(exchange: ModelExchange) -> None:
            # On a full disk the record cannot be kept either, and that says so.
            with suppress(OSError):
                log.write(exchange)

        def finished(exchange: ModelExchange) -> None:
            self._writer.submit(write, exchange)

        try:
            yield finished
        finally:
            self._writer.submit(log.close).result()


@contextmanager
def _short_folder() -> Iterator[Path]:
    """A folder that others may pass through, by names that they know, but not list."""
    base = Path(tempfile.gettempdir())
    short = base if len(str(base)) < _PATH_LIMIT else Path("/tmp")
    with owned_folder("agentbench-", short) as folder:
        folder.chmod(0o711)
        yield folder


def _discard_exchange(_exchange: ModelExchange) -> None:
    pass


@contextmanager
def run_gateway(
    endpoints: ProviderAccess | None,
    *,
    model: str,
    prices: Prices,
    record: Path | None = None,
    replay: Path | None = None,
    bounds: AnswerLimits | None = None,
) -> Iterator[Gateway]:
    """A gateway that answers, for as long as the block lasts.

    Args:
        endpoints: Where the model is; not needed for a replay.
        model: Its name, as its provider knows it.
        prices: What requests are priced by.
        record: A file that all answers are written to.
        replay: A file that all answers are taken from; nothing is sent anywhere.
        bounds: What an answer may take.

    Raises:
        InputError: the recording cannot be read, or gone on with.
        StorageError: the recording cannot be written.
        UsageError: there are neither endpoints nor a recording, or what goes not together.
    """
    if record is not None and replay is not None:
        raise UsageError("--record and --replay do not go together: a replay has nothing new")
    options = GatewayOptions(
        model=model,
        prices=prices,
        endpoints=endpoints,
        record=record,
        replay=replay,
        bounds=bounds or AnswerLimits(),
    )
    recording = read_recording(options.replay) if options.replay is not None else None
    if recording is None and options.endpoints is None:
        raise UsageError("a gateway needs endpoints, or a recording to replay")
    loop = LoopThread()
    try:
        if recording is not None:
            with _open_gateway(options, ReplayedUpstream(recording), loop) as gateway:
                yield gateway
        else:
            with (
                _live_upstream(options, loop) as upstream,
                _recorded_upstream(options, upstream) as kept,
                _open_gateway(options, kept, loop) as gateway,
            ):
                yield gateway
    finally:
        loop.stop()


@contextmanager
def _open_gateway(
    options: GatewayOptions, upstream: Upstream, loop: LoopThread
) -> Iterator[Gateway]:
    gateway = Gateway(options, upstream, loop)
    try:
        yield gateway
    finally:
        gateway.close()


@contextmanager
def _live_upstream(options: GatewayOptions, loop: LoopThread) -> Iterator[LiveUpstream]:
    assert options.endpoints is not None
    client = provider_http_client(options.bounds)
    try:
        yield LiveUpstream(options.endpoints, client)
    finally:
        loop.run(client.aclose())


@contextmanager
def _recorded_upstream(options: GatewayOptions, upstream: LiveUpstream) -> Iterator[Upstream]:
    path = options.record
    if path is None:
        yield upstream
        return
    assert options.endpoints is not None
    file = RecordingFile(path, model=options.model, wires=upstream.api_formats)
    keys = Redactor(options.endpoints.keys)
    faults: list[OSError] = []

    def write(make: Callable[[], RecordedAnswer]) -> None:
        try:
            file.add(make())
        except OSError as fault:
            faults.append(fault)

    with ThreadPoolExecutor(1, thread_name_prefix="agentbench-recording") as writer:
        try:
            yield RecordingUpstream(upstream, keys, lambda make: writer.submit(write, make))
        finally:
            writer.submit(file.close).result()
    if faults:
        raise StorageError(f"{path}: the recording is not whole: {faults[0].strerror}")
