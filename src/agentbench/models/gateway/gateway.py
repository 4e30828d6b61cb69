"""The gateway of a run: a connection to the provider, and an endpoint for each attempt."""

import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from socket import socket

from agentbench.core import display_text, files
from agentbench.errors import StorageError, UsageError
from agentbench.models.gateway import endpoint_app, exchange_log, forwarding, providers
from agentbench.models.gateway.http_server import serve_on, unix_listener
from agentbench.models.gateway.ledger import Ledger
from agentbench.models.gateway.recording import (
    RecordedAnswer,
    RecordingFile,
    RecordingUpstream,
    ReplayedUpstream,
    read_recording,
)
from agentbench.models.gateway.upstream import (
    AnswerLimits,
    LiveUpstream,
    Upstream,
    probe_model,
    provider_http_client,
)
from agentbench.models.interface import ModelEndpoint
from agentbench.models.model_catalogue import Prices
from agentbench.sandbox.relay import LoopThread

_TOKEN_BYTES = 32
_SOCKET = "gateway.sock"
# Characters of the folder's path; a socket's path may have 107.
_PATH_LIMIT = 60


class Gateway:
    """Opens model endpoints. Safe to use from several threads. `open_gateway` creates it."""

    def __init__(
        self,
        upstream: Upstream,
        loop: LoopThread,
        *,
        model: str,
        prices: Prices,
        access: providers.ProviderAccess | None,
        bounds: AnswerLimits,
    ) -> None:
        """Use an upstream; without access to a provider, answers are a recording's."""
        self.model = model
        self.api_formats = upstream.api_formats
        self._upstream = upstream
        self._loop = loop
        self._prices = prices
        self._access = access
        self._bounds = bounds
        self._keep = ExitStack()
        base = Path(tempfile.gettempdir())
        short = base if len(str(base)) < _PATH_LIMIT else Path("/tmp")
        self._folder = self._keep.enter_context(files.owned_folder("agentbench-", short))
        # Other users may pass through it, but not list it.
        self._folder.chmod(0o711)
        self._numbers = count(1)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="agentbench-llm-log")
        self._secrets: frozenset[str] = access.keys if access else frozenset()
        self._keys = display_text.Redactor(self._secrets)

    def probe(
        self, *, seconds: float | None = None, say: Callable[[str], None] = lambda _line: None
    ) -> None:
        """Send one small request, to detect a wrong key or name before a run.

        Does nothing in a replay.

        Args:
            seconds: How long to wait for the answer; None: long enough for a server of one's own
                to load the model.
            say: Receives a line if the answer takes long.

        Raises:
            UsageError: the key, the model's name or the base URL is wrong.
            UnavailableError: no answer came in that time.
        """
        if self._access is not None:
            self._loop.run(probe_model(self._access, self.model, seconds=seconds, say=say))

    @contextmanager
    def open_endpoint(
        self,
        *,
        budget_usd: float,
        log: Path,
        lane: str = "",
        on_request: Callable[[datetime], None] | None = None,
    ) -> Iterator[ModelEndpoint]:
        """An endpoint for one attempt, on a unix socket; its connections are cut at the end.

        Args:
            budget_usd: The cost limit of the attempt.
            log: The file for the exchanges, one JSON line each.
            lane: Names the attempt in a recording.
            on_request: Called with the time of each request, in a thread, before it is forwarded.
        """
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        folder.chmod(0o755)
        path = folder / _SOCKET
        try:
            with self.open_endpoint_on(
                unix_listener(path),
                budget_usd=budget_usd,
                log=log,
                lane=lane,
                path=path,
                on_request=on_request,
            ) as endpoint_on:
                yield endpoint_on
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def open_endpoint_on(
        self,
        listener: socket,
        *,
        budget_usd: float,
        log: Path | None,
        lane: str,
        path: Path,
        on_request: Callable[[datetime], None] | None = None,
    ) -> Iterator[ModelEndpoint]:
        """An endpoint on a bound socket."""
        ledger = Ledger(
            model=self.model,
            budget_usd=budget_usd,
            cost_of=self._prices.cost_usd,
            free=self._access is None,
        )
        token = f"agentbench-{secrets.token_urlsafe(_TOKEN_BYTES)}"
        by = forwarding.ForwardingContext(
            upstream=self._upstream, bounds=self._bounds, ledger=ledger, keys=self._keys
        )
        endpoint = ModelEndpoint(
            model=self.model,
            api_formats=self.api_formats,
            token=token,
            socket=path,
            traffic=ledger.facts,
            settle=lambda: self._loop.run(forwarding.repeat_failed_request(by)),
        )
        with self._logging(log, token) as finished:
            application = endpoint_app.EndpointApplication(
                model=self.model,
                token=token,
                lane=lane,
                by=by,
                finished=finished,
                on_request=on_request,
            )
            with self._loop.holding(serve_on(listener, application)):
                yield endpoint

    def close(self) -> None:
        """Free its resources."""
        self._writer.shutdown()
        self._keep.close()

    @contextmanager
    def _logging(
        self, path: Path | None, token: str
    ) -> Iterator[Callable[[exchange_log.ModelExchange], object]]:
        if path is None:
            yield lambda _exchange: None
            return
        log = exchange_log.ExchangeLog(path, display_text.Redactor({*self._secrets, token}))
        try:
            # An OSError stays in the future: on a full disk the record cannot be written either,
            # and that failure is reported.
            yield lambda exchange: self._writer.submit(log.write, exchange)
        finally:
            self._writer.submit(log.close).result()


@contextmanager
def run_gateway(
    endpoints: providers.ProviderAccess | None,
    *,
    model: str,
    prices: Prices,
    record: Path | None = None,
    replay: Path | None = None,
    bounds: AnswerLimits | None = None,
) -> Iterator[Gateway]:
    """A gateway that answers while the block runs.

    Args:
        endpoints: The addresses of the model; not needed for a replay.
        model: Its name, as its provider knows it.
        prices: The prices of models.
        record: A file to write all answers to.
        replay: A file to take all answers from; nothing is sent to a provider.
        bounds: The time limits of an answer.

    Raises:
        InputError: the recording cannot be read or continued.
        StorageError: the recording cannot be written.
        UsageError: there are neither endpoints nor a recording, or options contradict each other.
    """
    if record is not None and replay is not None:
        raise UsageError("--record and --replay cannot be combined: a replay has no new answers")
    if endpoints is None and replay is None:
        raise UsageError("a gateway needs endpoints, or a recording to replay")
    access, bounds = None if replay else endpoints, bounds or AnswerLimits()
    recording = read_recording(replay) if replay is not None else None
    with closing(LoopThread()) as loop, ExitStack() as stack:
        upstream: Upstream
        if recording is not None:
            upstream = ReplayedUpstream(recording)
        else:
            assert access is not None
            client = provider_http_client(bounds)
            stack.callback(lambda: loop.run(client.aclose()))
            upstream = LiveUpstream(access, client)
            if record is not None:
                recorder = _recorded_upstream(upstream, record, model=model, keys=access.keys)
                upstream = stack.enter_context(recorder)
        gateway = Gateway(upstream, loop, model=model, prices=prices, access=access, bounds=bounds)
        yield stack.enter_context(closing(gateway))


@contextmanager
def _recorded_upstream(
    upstream: LiveUpstream, path: Path, *, model: str, keys: frozenset[str]
) -> Iterator[Upstream]:
    file = RecordingFile(path, model=model, wires=upstream.api_formats)
    faults: list[OSError] = []

    def write(make: Callable[[], RecordedAnswer]) -> None:
        try:
            file.add(make())
        except OSError as fault:
            faults.append(fault)

    with ThreadPoolExecutor(1, thread_name_prefix="agentbench-recording") as writer:
        try:
            yield RecordingUpstream(
                upstream, display_text.Redactor(keys), lambda make: writer.submit(write, make)
            )
        finally:
            writer.submit(file.close).result()
    if faults:
        raise StorageError(f"{path}: the recording is incomplete: {faults[0].strerror}")
