"""The gateway of a run: one way to the provider, a door to it for each attempt."""

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

from agentbench.agents.gateway.door_application import DoorApplication
from agentbench.agents.gateway.endpoints import Endpoints
from agentbench.agents.gateway.exchange import Exchange
from agentbench.agents.gateway.exchange_log import ExchangeLog
from agentbench.agents.gateway.forwarding import Forwarding
from agentbench.agents.gateway.ledger import Ledger
from agentbench.agents.gateway.listening import listening, unix_listener
from agentbench.agents.gateway.loop_thread import LoopThread
from agentbench.agents.gateway.prices import Prices
from agentbench.agents.gateway.probe import PROBE_SECONDS, probe
from agentbench.agents.gateway.redaction import Redactor
from agentbench.agents.gateway.upstream import Bounds, Upstream
from agentbench.agents.model_door import ModelFacts, Wire
from agentbench.owned_folder import owned_folder

_TOKEN_BYTES = 32
_SOCKET = "gateway.sock"
_PATH_LIMIT = 60  # characters of the folder; the name of a socket may have 107 in all


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One attempt's door; a `ModelDoor`."""

    model: str
    wires: tuple[Wire, ...]
    token: str
    socket: Path
    ledger: Ledger

    def facts(self) -> ModelFacts:
        """What has passed so far."""
        return self.ledger.facts()


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayOptions:
    """What a gateway is made of."""

    model: str
    prices: Prices
    endpoints: Endpoints | None = None  # none are needed for a replay
    record: Path | None = None  # where all answers are written to
    replay: Path | None = None  # where all answers are taken from
    bounds: Bounds = field(default_factory=Bounds)


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
    def wires(self) -> tuple[Wire, ...]:
        """What can be spoken at its doors, the model's main wire first."""
        return self._upstream.wires

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
            self._loop.run(probe(self._options.endpoints, self._options.model, seconds=seconds))

    @contextmanager
    def admit(self, *, budget_usd: float, log: Path, lane: str = "") -> Iterator[Door]:
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
            with self.open_door(
                unix_listener(path), budget_usd=budget_usd, log=log, lane=lane, path=path
            ) as door:
                yield door
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def open_door(
        self, listener: socket, *, budget_usd: float, log: Path | None, lane: str, path: Path
    ) -> Iterator[Door]:
        """A door on a socket that is bound already."""
        ledger = Ledger(
            model=self.model,
            budget_usd=budget_usd,
            cost_of=self._options.prices.cost_usd,
            free=self._options.replay is not None,
        )
        token = f"agentbench-{secrets.token_urlsafe(_TOKEN_BYTES)}"
        door = Door(
            model=self.model, wires=self._upstream.wires, token=token, socket=path, ledger=ledger
        )
        with self._logging(log, token) as finished:
            application = DoorApplication(
                model=self.model,
                token=token,
                budget_usd=budget_usd,
                lane=lane,
                by=Forwarding(
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
    def _listening(self, listener: socket, application: DoorApplication) -> Iterator[None]:
        opened = AsyncExitStack()

        async def begin() -> None:
            await opened.enter_async_context(listening(listener, application))

        self._loop.run(begin())
        try:
            yield
        finally:
            self._loop.run(opened.aclose())

    @contextmanager
    def _logging(self, path: Path | None, token: str) -> Iterator[Callable[[Exchange], None]]:
        if path is None:
            yield _forget
            return
        log = ExchangeLog(path, Redactor({*self._secrets, token}))

        def write(exchange: Exchange) -> None:
            # On a full disk the record cannot be kept either, and that says so.
            with suppress(OSError):
                log.write(exchange)

        def finished(exchange: Exchange) -> None:
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


def _forget(_exchange: Exchange) -> None:
    pass
