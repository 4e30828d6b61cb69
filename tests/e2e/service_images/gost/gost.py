#!/usr/bin/env python3
"""Stands in for the proxy `gost` in Harbor's sidecar, whose image cannot be pulled everywhere.

Harbor's nftables rules redirect each outgoing TCP connection here. It is let through if the host
of its HTTP request, or else its address, is in the allow list.
"""

import fnmatch
import ipaddress
import re
import socket
import struct
import threading
from pathlib import Path

ALLOWLIST = Path("/opt/egress-sidecar/allowlist.txt")
PORT, MARK, SO_MARK, SO_ORIGINAL_DST = 12345, 114514, 36, 80


def is_allowed(host: str) -> bool:
    for entry in ALLOWLIST.read_text().split():
        if fnmatch.fnmatch(host, entry):
            return True
        try:
            if ipaddress.ip_address(host) in ipaddress.ip_network(entry):
                return True
        except ValueError:
            continue
    return False


def copy(source: socket.socket, target: socket.socket, first: bytes = b"") -> None:
    try:
        data = first or source.recv(65536)
        while data:
            target.sendall(data)
            data = source.recv(65536)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        target.close()


def serve(client: socket.socket) -> None:
    port, address = struct.unpack_from("!2xH4s", client.getsockopt(0, SO_ORIGINAL_DST, 16))
    destination = (socket.inet_ntoa(address), port)
    client.settimeout(5)
    try:
        first = client.recv(65536)
    except TimeoutError:
        first = b""
    client.settimeout(None)
    named = re.search(rb"\r\nHost: *([^\s:]+)", first, re.IGNORECASE)
    if not is_allowed(named[1].decode() if named else destination[0]):
        client.close()
        return
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, SO_MARK, MARK)
    server.connect(destination)
    threading.Thread(target=copy, args=(server, client)).start()
    copy(client, server, first)


listener = socket.create_server(("", PORT))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],)).start()
