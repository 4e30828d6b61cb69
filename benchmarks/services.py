"""Services: the start and the end of a sandbox with services, against plain Docker Compose.

Both have the same compose file: `main`, a store, and a program that waits until the store is
healthy. The plain side runs `docker compose up --wait`, one command in `main`, and `docker compose
down --volumes`, which gives services ten seconds to end, or none with `--timeout 0`. Ours opens a
sandbox of the Docker back end, runs one command in it, and closes it. They take turns. The images
exist before. Run: python benchmarks/services.py [--rounds N] [--json FILE]
"""

import subprocess
import tempfile
import uuid
from datetime import timedelta
from pathlib import Path

import docker
from measuring import arguments, show, take_turns, timed

from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.sandbox.interface import Command, ImageId, Limits, SandboxUse, Services

_IMAGE = "agentbench/python:3.11"
_CHECK = "import socket; socket.create_connection(('127.0.0.1', 8000), timeout=5)"
_SERVER = f"""
    image: {_IMAGE}
    init: true
    command: [python, -m, http.server, "8000"]
    healthcheck: {{test: [CMD, python, -c, "{_CHECK}"], interval: 0.5s, retries: 120}}
"""
_COMPOSE = f"""\
services:
  main:
    image: {_IMAGE}
    init: true
    command: [sleep, infinity]
    depends_on: {{web: {{condition: service_healthy}}, cache: {{condition: service_healthy}}}}
  store:{_SERVER}
    volumes: ["data:/data"]
  cache:{_SERVER}
  web:{_SERVER}
    depends_on: {{store: {{condition: service_healthy}}}}
volumes: {{data: {{}}}}
"""
_RAW = "docker compose up --wait, down --volumes"
_HASTY = "the same, down --timeout 0"


def main() -> None:
    """Take turns and show medians and ratios."""
    options = arguments(__doc__).parse_args()
    provider = DockerProvider.connect()
    image = provider.resolve_image(_IMAGE)
    with tempfile.TemporaryDirectory(prefix="agentbench-services-") as scratch:
        file = Path(scratch) / "docker-compose.yaml"
        file.write_text(_COMPOSE, encoding="utf-8")
        variants = {
            _RAW: timed(lambda: _raw(file)),
            _HASTY: timed(lambda: _raw(file, "--timeout", "0")),
            "sandbox with services": timed(lambda: _ours(provider, image, file)),
        }
        measures = take_turns(variants, options.rounds)
    facts = {"services": 3, "engine": str(docker.from_env().version()["Version"])}
    show("services", measures, options, facts=facts)


def _raw(file: Path, *ending: str) -> None:
    project = f"raw-{uuid.uuid4().hex[:8]}"
    compose = ("docker", "compose", "--file", str(file), "--project-name", project)
    for words in (("up", "--wait"), ("exec", "-T", "main", "true"), ("down", "--volumes", *ending)):
        subprocess.run((*compose, *words), check=True, capture_output=True)


def _ours(provider: DockerProvider, image: ImageId, file: Path) -> None:
    use = SandboxUse(services=Services(file=file))
    with provider.open(image, limits=Limits(), network=False, use=use) as sandbox:
        result = sandbox.run(Command(argv=("true",), timeout=timedelta(minutes=1)))
        assert result.ok


if __name__ == "__main__":
    main()
