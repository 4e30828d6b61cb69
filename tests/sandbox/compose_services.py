"""Services for tests: a store of keys and values over TCP, built on the base image."""

from pathlib import Path

import pytest

from agentbench.errors import UnavailableError
from agentbench.sandbox.docker.compose_program import find_compose
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.interface import Sandbox, Services
from tests.needed import DOCKER
from tests.sandbox.conformance_base import python

PORT = "7001"

SERVER = '''\
"""`SET name value`, `GET name`, `STOP code`, `EAT`, `FILL`; each answered by one line."""
import os
import socketserver
import sys

values = {}


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            command, _, rest = line.decode().strip().partition(" ")
            print(command, rest, flush=True)
            if command == "STOP":
                os._exit(int(rest))
            if command == "EAT":
                values["memory"] = b"x" * (1 << 32)
            if command == "FILL":
                for name in "ab":
                    with open(f"/tmp/{name}", "wb") as file:
                        file.write(b"x" * (40 << 20))
            if command == "SET":
                name, _, value = rest.partition(" ")
                values[name] = value
            self.wfile.write((values.get(rest, "none") + "\\n").encode())


socketserver.ThreadingTCPServer(("", int(sys.argv[1])), Handler).serve_forever()
'''
DOCKERFILE = "FROM agentbench/python:3.11\nCOPY --chmod=644 server.py /srv/server.py\n"
ASK = f"""
import socket, sys
peer = socket.create_connection((sys.argv[1], {PORT}), timeout=60)
peer.sendall(" ".join(sys.argv[2:]).encode() + b"\\n")
print(peer.makefile().readline().strip())
"""
CHECK = f"import socket; socket.create_connection(('127.0.0.1', {PORT}), timeout=5)"
STORE = f"""\
services:
  db:
    build: ./db
    command: ["python", "/srv/server.py", "${{PORT}}"]
    ports: ["${{PORT}}:${{PORT}}"]
    healthcheck: {{test: ["CMD", "python", "-c", "{CHECK}"], interval: 1s, retries: 60}}
"""
IDLE = """\
services:
  idle: {image: "agentbench/python:3.11", command: ["sleep", "infinity"]}
"""


@pytest.fixture(scope="session")
def compose(engine: Engine) -> None:
    """Skip, or fail, what needs Docker Compose where it is missing."""
    try:
        find_compose(engine.facts)
    except UnavailableError as fault:
        DOCKER.refuse(str(fault))


def services_in(folder: Path, text: str = STORE) -> Services:
    """Write a compose file and the store's image to a folder."""
    (folder / "db").mkdir(parents=True, exist_ok=True)
    (folder / "db" / "server.py").write_text(SERVER)
    (folder / "db" / "Dockerfile").write_text(DOCKERFILE)
    file = folder / "docker-compose.yaml"
    file.write_text(text)
    return Services(file=file, env={"PORT": PORT})


def ask(sandbox: Sandbox, *words: str, host: str = "db") -> str:
    """The store's answer to a request from a sandbox; nothing if it dies of it."""
    result = python(sandbox, ASK, host, *words)
    return (result.stdout + result.stderr).strip()
