"""Connections to the outside, directly or by the proxy that this machine needs."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from agentbench.sandbox.egress.destinations import Destination

_CONNECTED_WITHIN = 30.0  # seconds
_USUAL_PORTS = {"http": 80, "https": 443}
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamProxy:
    """A proxy that HTTP_PROXY or HTTPS_PROXY names."""

    host: str
    port: int
    is_encrypted: bool = False
    authorization: str | None = None

    @property
    def headers(self) -> Sequence[tuple[str, str]]:
        """The headers for the proxy itself."""
        return [("Proxy-Authorization", self.authorization)] if self.authorization else []


def upstream_proxy(env: Mapping[str, str], scheme: str, host: str) -> UpstreamProxy | None:
    """The HTTP proxy of this machine for a host; None: it needs no proxy.

    Args:
        env: The variables of this machine.
        scheme: `http` or `https`.
        host: A host name or an address.
    """
    names = (f"{scheme}_proxy", "all_proxy")
    address = next(filter(None, (env.get(n) or env.get(n.upper()) for n in names)), "")
    if not address or _is_bypassed(host, env.get("no_proxy") or env.get("NO_PROXY") or ""):
        return None
    try:
        url = urlsplit(address if "://" in address else f"http://{address}")
        port = url.port or _USUAL_PORTS.get(url.scheme, 0)
    except ValueError:
        return None
    if url.hostname is None or not port:  # such as a SOCKS proxy
        return None
    user = None
    if url.username is not None:
        words = f"{unquote(url.username)}:{unquote(url.password or '')}"
        user = f"Basic {b64encode(words.encode()).decode()}"
    return UpstreamProxy(
        host=url.hostname, port=port, is_encrypted=url.scheme == "https", authorization=user
    )


def _is_bypassed(host: str, no_proxy: str) -> bool:
    entries = (each.strip().lower().lstrip(".") for each in no_proxy.split(","))
    return any(each and (each == "*" or f".{host}".endswith(f".{each}")) for each in entries)


async def connect(addresses: Sequence[str], port: int) -> Streams:
    """A connection to the first address that accepts it.

    Raises:
        OSError: no address accepts it.
    """
    fault = OSError("there is no address")
    for address in addresses:
        try:
            async with asyncio.timeout(_CONNECTED_WITHIN):
                return await asyncio.open_connection(address, port)
        except OSError as error:
            fault = error
    raise fault


async def connect_to_proxy(proxy: UpstreamProxy) -> Streams:
    """A connection to this machine's proxy.

    Raises:
        OSError: it does not answer.
    """
    encryption = ssl.create_default_context() if proxy.is_encrypted else None
    async with asyncio.timeout(_CONNECTED_WITHIN):
        return await asyncio.open_connection(proxy.host, proxy.port, ssl=encryption)


async def connect_by_proxy(proxy: UpstreamProxy, destination: Destination) -> Streams:
    """A tunnel to a destination.

    Raises:
        OSError: the proxy does not answer, or refuses.
    """
    reader, writer = await connect_to_proxy(proxy)
    headers = [("Host", str(destination)), *proxy.headers]
    lines = [f"CONNECT {destination} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode())
        async with asyncio.timeout(_CONNECTED_WITHIN):
            # Reads no byte after the head, since it belongs to the destination.
            answer = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0].split()
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        answer = []
    if len(answer) < 2 or not answer[1].startswith(b"2"):
        writer.transport.abort()
        code = answer[1].decode("latin-1")[:3] if len(answer) > 1 else "no HTTP"
        raise ConnectionError(f"the proxy of this machine answers {code}")
    return reader, writer
