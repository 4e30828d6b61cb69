"""The Compose program: `docker compose`, or else `docker-compose`."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Event

from agentbench.core.files import owned_folder
from agentbench.errors import RunCancelled, SandboxError, UnavailableError
from agentbench.sandbox.docker.engine import EngineFacts, EngineProduct

_PROGRAMS = (("docker", "compose"), ("docker-compose",))
_ANSWERS_WITHIN = 60.0  # seconds
_BUILD_SECONDS = 1800.0
_BOUND = """\
exec 3<&0 < /dev/null
"$@" 3<&- &
own=$!
{ read -r end <&3; kill -9 -$$; } > /dev/null 2>&1 &
wait $own
"""
"""Ends a program with all processes that it has started once the other end of its input is closed:
a Compose that outlives a killed run would continue to create containers."""
_POLL = 0.1  # seconds between two checks of the clock and the cancel event
_OWN_VARIABLES = (
    "PATH", "HOME", "SSH_AUTH_SOCK", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_HOST",
    "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeOutcome:
    """How a call of Compose ended."""

    code: int
    output: str
    messages: str  # its standard error

    @property
    def last_output(self) -> str:
        """The end of all that it wrote."""
        return (self.output + self.messages).strip()[-2000:]

    @property
    def last_message(self) -> str:
        """The last line of its messages, which has the cause."""
        return next(iter(reversed(self.messages.strip().splitlines())), f"exit code {self.code}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeProgram:
    """An installed Compose of version 2 or newer."""

    argv: tuple[str, ...]
    version: str
    engine: str | None = None  # its address; None: the engine that Compose finds

    def run(
        self,
        *words: str,
        variables: Mapping[str, str] | None = None,
        seconds: float = _ANSWERS_WITHIN,
        cancel: Event | None = None,
    ) -> ComposeOutcome:
        """Run it until its end. It gets only the variables of this process that it needs.

        Args:
            words: Its arguments.
            variables: For the variables in a compose file.
            seconds: The time limit.
            cancel: Ends it once it is set.

        Raises:
            SandboxError: it did not end in time.
            RunCancelled: the run was cancelled.
        """
        own = {name: os.environ[name] for name in _OWN_VARIABLES if name in os.environ}
        if self.engine is not None:
            own["DOCKER_HOST"] = self.engine
        env = {**(variables or {}), **own, "COMPOSE_PROGRESS": "plain", "DOCKER_BUILDKIT": "1"}
        return _run((*self.argv, *words), env, seconds, cancel)

    def run_document(
        self,
        document: Mapping[str, object],
        *words: str,
        seconds: float,
        cancel: Event | None = None,
    ) -> ComposeOutcome:
        """Run it on a resolved compose file with a name, without another file of this machine.

        Raises:
            SandboxError: it did not end in time.
            RunCancelled: the run was cancelled.
        """
        with owned_folder("agentbench-compose-") as folder:
            file = folder / "compose.json"
            file.write_text(json.dumps(document))
            where = ("--file", str(file), "--project-directory", str(folder))
            words = (*where, "--env-file", "/dev/null", *words)
            return self.run(*words, seconds=seconds, cancel=cancel)

    def build(
        self, services: Mapping[str, Mapping[str, object]], cancel: Event | None = None
    ) -> ComposeOutcome:
        """Build the images of services by BuildKit.

        Raises:
            SandboxError: it did not end in time.
            RunCancelled: the run was cancelled.
        """
        document = {"name": "agentbench", "services": services}
        return self.run_document(document, "build", seconds=_BUILD_SECONDS, cancel=cancel)


def find_compose(facts: EngineFacts | None = None, address: str | None = None) -> ComposeProgram:
    """The installed Compose, for an engine with these facts at an address.

    Raises:
        UnavailableError: Compose is missing, or cannot work with the engine.
    """
    if facts is not None and facts.product is EngineProduct.PODMAN:
        raise UnavailableError("services need Docker's own engine; Podman cannot run them")
    for name, *words in _PROGRAMS:
        path = shutil.which(name)
        if path is None:
            continue
        argv = (path, *words)
        with suppress(SandboxError, OSError):
            found = _run((*argv, "version", "--short"), os.environ, _ANSWERS_WITHIN, None)
            version = found.output.strip().removeprefix("v")
            if found.code == 0 and version[:1].isdigit() and not version.startswith("1."):
                return ComposeProgram(argv=argv, version=version, engine=address)
    raise UnavailableError(
        "services need Docker Compose 2, and neither `docker compose` nor `docker-compose` "
        "answers: install the plug-in (the package docker-compose-plugin or docker-compose)"
    )


def _run(
    argv: tuple[str, ...], env: Mapping[str, str], seconds: float, cancel: Event | None
) -> ComposeOutcome:
    theirs, ours = os.pipe()
    with (
        os.fdopen(ours, "wb"),  # closed last, or with this process
        os.fdopen(theirs, "rb") as held,
        subprocess.Popen(
            ("/bin/sh", "-c", _BOUND, "sh", *argv),
            env=env,
            stdin=held,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # we handle Ctrl-C: we end it, and remove what it has created
        ) as process,
    ):
        try:
            return _attend(process, seconds, cancel)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise


def _attend(process: subprocess.Popen[str], seconds: float, cancel: Event | None) -> ComposeOutcome:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(subprocess.TimeoutExpired):
            output, messages = process.communicate(timeout=_POLL)
            return ComposeOutcome(code=process.returncode, output=output, messages=messages)
        if cancel is not None and cancel.is_set():
            raise RunCancelled
    raise SandboxError(f"Docker Compose did not end in {seconds:.0f} s")
