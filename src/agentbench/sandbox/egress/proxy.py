"""The proxy for lists of hosts: CONNECT, and plain HTTP/1.1.

Its clients are hostile. Each request is parsed by h11 and written anew, so that nothing can bypass
the check of its target. Connections, heads and the log are bounded; all connections end with the
proxy.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import h11
from pydantic import ConfigDict, Field

from agentbench.core.network import AllowedHosts
from agentbench.core.schema import Schema
from agentbench.sandbox.egress import upstream
from agentbench.sandbox.egress.destinations import (
    RefusedError,
    WrongTargetError,
    parse_authority,
    parse_url,
    resolved,
)

MAX_RECORDS = 10_000
"""The most requests in a stage's log; further ones are only counted."""

MAX_CONNECTIONS = 256
"""The most connections at a time; further ones are closed."""

HEAD_BYTES = 64 * 1024
"""The most bytes of a request's or an answer's head."""

_HEAD_SECONDS = 60.0  # for the next request of a connection
_LINGER_SECONDS = 2.0  # for the end of a connection that was refused
_CHUNK = 64 * 1024  # bytes
_BACKLOG = 512
_LOGGED = 300  # characters of a text from a request
# Headers of one connection, not of the message (RFC 9110, 7.6.1); `Host` is written anew.
_NOT_FORWARDED = frozenset(
    {b"connection", b"expect", b"host", b"keep-alive", b"proxy-authenticate",
     b"proxy-authorization", b"proxy-connection", b"te", b"trailer", b"transfer-encoding",
     b"upgrade"}
)  # fmt: skip
Headers = list[tuple[bytes, bytes]]


class EgressRecord(Schema):
    """One request for a host outside of the sandbox."""

    model_config = ConfigDict(frozen=False)  # it is filled while the request is served

    at: datetime
    method: str = "?"  # CONNECT: any protocol
    host: str | None = None  # None: the target was no host with a port
    port: int | None = None
    allowed: bool = False
    why: str | None = None  # it was refused, or failed
    sent: int = Field(default=0, ge=0)  # bytes
    received: int = Field(default=0, ge=0)


class EgressLog:
    """The first records of one stage, and the number of later ones."""

    def __init__(self) -> None:
        self._records: list[EgressRecord] = []
        self._left_out = 0

    def add(self, record: EgressRecord) -> None:
        if len(self._records) < MAX_RECORDS:
            self._records.append(record)
        else:
            self._left_out += 1

    def take(self) -> bytes:
        """Return the log as JSON lines, and empty it."""
        lines = [each.model_dump_json(exclude_none=True) for each in self._records]
        if self._left_out:
            lines.append(json.dumps({"left_out": self._left_out}))
        self._records, self._left_out = [], 0
        return "".join(f"{line}\n" for line in lines).encode()


class EgressProxy:
    """Serves a list of hosts that can be replaced while it serves."""

    def __init__(self, env: Mapping[str, str]) -> None:
        """Create a proxy that allows nothing; `env` may name the proxy that this machine needs."""
        self.env = env
        self.hosts = AllowedHosts(())
        self.log = EgressLog()
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def serving(self, listener: socket.socket) -> AsyncIterator[None]:
        """Serve on a bound unix socket; at the end every connection is cut."""
        server = await asyncio.start_unix_server(self._accept, sock=listener, backlog=_BACKLOG)
        try:
            yield
        finally:
            server.close()
            await self.cut()

    async def cut(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        client = _Client(self, reader, writer)

        async def serve() -> None:
            try:
                # h11 also raises when it writes, if the other end has sent something unexpected.
                with suppress(OSError, h11.ProtocolError):
                    while await client.serve_request():
                        pass
                    await client.linger()
            finally:
                writer.transport.abort()

        task = asyncio.ensure_future(serve())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Connection:
    def __init__(
        self,
        role: type[h11.CLIENT | h11.SERVER],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(role, max_incomplete_event_size=HEAD_BYTES)

    async def send(self, event: h11.Event) -> None:
        self._writer.write(self._http.send(event) or b"")
        await self._writer.drain()

    async def next_event(self) -> "h11.Event | type[h11.PAUSED]":
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Event):
                return event
            if event is h11.PAUSED:
                return h11.PAUSED
            self._http.receive_data(await self._reader.read(_CHUNK))

    def abort(self) -> None:
        self._writer.transport.abort()


class _Client(_Connection):
    """One connection of a program in the sandbox."""

    def __init__(
        self, proxy: EgressProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        super().__init__(h11.SERVER, reader, writer)
        self._proxy = proxy
        self._record = EgressRecord(at=datetime.now(UTC))

    async def serve_request(self) -> bool:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                request = await self.next_event()
        except TimeoutError:
            return False
        except h11.RemoteProtocolError as error:
            self._record = EgressRecord(at=datetime.now(UTC))
            await self._refuse(error.error_status_hint, str(error))
            self._proxy.log.add(self._record)
            return False
        if not isinstance(request, h11.Request):
            return False
        method = request.method.decode("ascii")[:_LOGGED]
        self._record = record = EgressRecord(at=datetime.now(UTC), method=method)
        try:
            return await self._answer(request)
        except WrongTargetError as error:
            await self._refuse(400, str(error))
        except RefusedError as error:
            await self._refuse(403, str(error))
        except (OSError, h11.RemoteProtocolError) as error:
            await self._refuse(502, str(error) or "no answer in time")
        finally:
            self._proxy.log.add(record)
        return False

    async def linger(self) -> None:
        # Its sender might lose the answer to a connection that is closed while it still sends.
        self._writer.write_eof()
        async with asyncio.timeout(_LINGER_SECONDS):
            while await self._reader.read(_CHUNK):
                pass

    async def _refuse(self, status: int, why: str) -> None:
        self._record.why = why[:_LOGGED]
        if self._http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            # A part of an answer has been sent; more would be taken for its body.
            return
        text = f"agentbench: {why}\n".encode()
        headers = [("Content-Length", str(len(text))), ("Connection", "close")]
        await self.send(h11.Response(status_code=status, headers=headers))
        if self._record.method != "HEAD":
            await self.send(h11.Data(data=text))
        await self.send(h11.EndOfMessage())

    async def _answer(self, request: h11.Request) -> bool:
        target, is_tunnel = request.target.decode("latin-1"), request.method == b"CONNECT"
        path = ""
        if is_tunnel:
            # Its body would be taken for the first bytes of the tunnel.
            if {name for name, _ in request.headers} & {b"content-length", b"transfer-encoding"}:
                raise WrongTargetError("CONNECT has no body")
            destination = parse_authority(target)
        else:
            destination, path = parse_url(target)
        self._record.host, self._record.port = destination.host, destination.port
        scheme, hosts = "https" if is_tunnel else "http", self._proxy.hosts
        proxy = upstream.upstream_proxy(self._proxy.env, scheme, destination.host)
        addresses = await resolved(destination, hosts, elsewhere=proxy is not None)
        self._record.allowed = True
        if is_tunnel:
            if proxy is None:
                await self._tunnel(await upstream.connect(addresses, destination.port))
            else:
                await self._tunnel(await upstream.connect_by_proxy(proxy, destination))
            return False
        host = str(destination).removesuffix(":80")
        headers = [
            *_forwarded(request.headers),
            (b"Host", host.encode()),
            (b"Connection", b"close"),
        ]
        if proxy is None:
            streams = await upstream.connect(addresses, destination.port)
        else:
            streams = await upstream.connect_to_proxy(proxy)
            path = f"http://{host}{path}"
            headers += [(name.encode(), value.encode()) for name, value in proxy.headers]
        head = h11.Request(method=request.method, target=path.encode("latin-1"), headers=headers)
        return await self._forward(head, _Connection(h11.CLIENT, *streams))

    async def _tunnel(self, streams: upstream.Streams) -> None:
        reader, writer = streams
        try:
            await self.send(h11.Response(status_code=200, headers=[], reason=b"Connected"))
            early = self._http.trailing_data[0]
            self._record.sent += len(early)
            writer.write(early)
            record = self._record

            async def copy_out() -> None:
                while data := await self._reader.read(_CHUNK):
                    record.sent += len(data)
                    writer.write(data)
                    await writer.drain()
                writer.write_eof()

            async def copy_in() -> None:
                while data := await reader.read(_CHUNK):
                    record.received += len(data)
                    self._writer.write(data)
                    await self._writer.drain()
                self._writer.write_eof()

            both = asyncio.gather(copy_out(), copy_in())
            try:
                await both
            finally:
                both.cancel()
        finally:
            writer.transport.abort()

    async def _forward(self, head: h11.Request, server: _Connection) -> bool:
        try:
            await server.send(head)
            sending = asyncio.ensure_future(self._send_body(server))
            try:
                await self._send_answer(server)
            finally:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
        finally:
            server.abort()
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            return True
        return False

    async def _send_body(self, server: _Connection) -> None:
        try:
            while True:
                if self._http.they_are_waiting_for_100_continue:
                    await self.send(h11.InformationalResponse(status_code=100, headers=[]))
                event = await self.next_event()
                if not isinstance(event, h11.Data):
                    await server.send(h11.EndOfMessage())
                    return
                self._record.sent += len(event.data)
                await server.send(h11.Data(data=event.data))
        except (OSError, h11.ProtocolError):
            server.abort()  # this ends the wait for the answer

    async def _send_answer(self, server: _Connection) -> None:
        while True:
            event = await server.next_event()
            if isinstance(event, h11.Response):
                status, headers = event.status_code, _forwarded(event.headers)
                answer = h11.Response(status_code=status, headers=headers, reason=event.reason)
                await self.send(answer)
            elif isinstance(event, h11.Data):
                self._record.received += len(event.data)
                await self.send(h11.Data(data=event.data))
            elif isinstance(event, h11.EndOfMessage):
                await self.send(h11.EndOfMessage())
                return
            elif not isinstance(event, h11.InformationalResponse):
                raise ConnectionError("the server closed the connection")


def _forwarded(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    # With two statements about a body's length, two servers could disagree where the next request
    # begins. So at most one is forwarded.
    found = list(headers)
    named = {
        word.strip().lower()
        for name, value in found
        if name == b"connection"
        for word in value.split(b",")
    }
    is_chunked = any(name == b"transfer-encoding" for name, _ in found)
    dropped = _NOT_FORWARDED | named | ({b"content-length"} if is_chunked else set())
    rest = [(name, value) for name, value in found if name not in dropped]
    return [*rest, (b"Transfer-Encoding", b"chunked")] if is_chunked else rest
