"""Finds a Docker engine and connects to it: by a socket, by TLS or by an ssh tunnel.

The tunnel is one connection for all requests. The SDK's own ssh (docker 7.1) cannot replace it: it
needs paramiko even to start the ssh program, starts one for each request, and ignores the socket's
path in the address. Reads have no time limit and wait until their buffer is full, so that the
output of a command would arrive after its end. ssh's messages go to the terminal.
"""

import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from docker.context import ContextAPI
from docker.errors import DockerException
from docker.tls import TLSConfig

from agentbench.core.files import owned_folder
from agentbench.errors import UnavailableError

DEFAULT_SOCKET = "/var/run/docker.sock"
_TLS_FILES = ("ca.pem", "cert.pem", "key.pem")
_SCHEMES_WITHOUT_TLS = ("unix://", "npipe://", "ssh://", "http+unix://")  # which do not use TLS
_EXPECTED = "expected ssh://[user@]host[:port][/path of its socket]"
_READY = "agentbench-ready"
_CONNECTS_WITHIN = 30.0  # seconds
_PATH_LIMIT = 59  # characters of a folder, since a socket's path has at most 107
_SOCKET, _MESSAGES = "engine.sock", "messages"
_OPTIONS = (
    "BatchMode=yes",  # no questions
    "ConnectTimeout=10",
    "ControlMaster=no",  # a shared connection would never stop forwarding
    "ControlPath=none",
    "ExitOnForwardFailure=yes",
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
    "StreamLocalBindUnlink=yes",
)
_SSH_MEANINGS = (
    ("host key verification failed", "its key is unknown here: log in once by hand (`{login}`)"),
    ("identification has changed", "its key has changed: check it by hand (`{login}`)"),
    ("permission denied", "it accepts none of our keys: add one to the agent (`ssh-add`)"),
    ("could not resolve", "the host does not exist: correct DOCKER_HOST"),
    ("connection refused", "no ssh server answers: start it, or correct DOCKER_HOST"),
    ("timed out", "no ssh server answers in time: check that `{login}` works"),
)
_ERRNO = re.compile(r"\[Errno \d+\] ")  # of Python, for programmers
_START_ENGINE = (
    "start it (`systemctl start docker`, or Docker Desktop), set DOCKER_HOST if it is elsewhere, "
    "or use --sandbox bubblewrap"
)
_REFUSAL_MEANINGS = (
    # OpenSSL's messages about the engine's certificate
    (
        ("Hostname mismatch", "IP address mismatch", "doesn't match"),
        "its certificate is for another name: connect by a name that is in it",
    ),
    (("certificate has expired",), "its certificate has expired: give the engine a new one"),
    (
        ("certificate verify failed", "CERTIFICATE_VERIFY_FAILED"),
        "its certificate is not signed by the CA in ca.pem: put the right CA into DOCKER_CERT_PATH",
    ),
    # The engine's messages about our certificate
    (
        ("certificate required", "bad certificate", "unknown ca", "certificate expired"),
        "it refuses our certificate, or there is none: put a valid one, signed by its CA, "
        "into DOCKER_CERT_PATH as cert.pem and key.pem",
    ),
    (
        ("HTTP request to an HTTPS server",),
        "it requires TLS: set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH",
    ),
    (
        ("WRONG_VERSION_NUMBER", "wrong version number", "record layer failure", "HTTP_REQUEST"),
        "it does not use TLS: unset DOCKER_TLS_VERIFY and DOCKER_CERT_PATH",
    ),
    (
        ("KEY_VALUES_MISMATCH", "PEM lib", "NO_START_LINE"),
        "cert.pem and key.pem do not belong together",
    ),
    (
        ("Permission denied",),
        "you may not use its socket: join the group docker, or use --sandbox bubblewrap",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAddress:
    """The address of an engine."""

    url: str | None  # None: the default socket
    found_by: str  # continues "found by"
    in_context: bool = False  # whether it is from the docker command's context
    context_tls: TLSConfig | None = None

    @property
    def is_local(self) -> bool:
        """Whether it is a socket of this machine, so that the engine may see our files."""
        return self.url is None or self.url.startswith(("unix://", "npipe://", "http+unix://"))

    @property
    def passed_on(self) -> str | None:
        """The address for another program; None: it finds the engine in the same way."""
        return None if self.in_context else self.url

    @property
    def socket(self) -> str:
        return (self.url or DEFAULT_SOCKET).removeprefix("http+").removeprefix("unix://")

    def tls(self, environ: Mapping[str, str]) -> TLSConfig | None:
        """The certificates of the docker command's context or of DOCKER_CERT_PATH.

        Raises:
            UnavailableError: they are missing.
        """
        verify = bool(environ.get("DOCKER_TLS_VERIFY"))
        cert_path = environ.get("DOCKER_CERT_PATH")
        if self.url is None or self.url.startswith(_SCHEMES_WITHOUT_TLS):
            return None
        if self.in_context or not (verify or cert_path):
            return self.context_tls
        folder = Path(cert_path) if cert_path else Path.home() / ".docker"
        missing = [name for name in _TLS_FILES if not os.access(folder / name, os.R_OK)]
        if missing:
            raise UnavailableError(
                f"the engine requires TLS, but {folder} has no readable {', '.join(missing)}: put "
                "the engine's CA and your certificate with its key there, or set DOCKER_CERT_PATH "
                "to their folder"
            )
        ca, certificate, key = (str(folder / name) for name in _TLS_FILES)
        return TLSConfig(client_cert=(certificate, key), ca_cert=ca, verify=verify)


def find_address(base_url: str | None, environ: Mapping[str, str]) -> EngineAddress:
    """The given address, or DOCKER_HOST, or that of the docker command's context."""
    if base_url is not None:
        return EngineAddress(url=base_url, found_by="the given address")
    if host := environ.get("DOCKER_HOST"):
        return EngineAddress(url=host, found_by="DOCKER_HOST")
    context = None
    with suppress(DockerException, OSError, ValueError):  # an unreadable file is ignored
        context = ContextAPI.get_current_context()  # the SDK itself ignores `docker context use`
    host = getattr(context, "Host", None)
    if context is None or not host or context.name == "default":
        return EngineAddress(url=None, found_by="its usual socket")
    return EngineAddress(
        url=str(host),
        found_by=f"the docker context {context.name}",
        in_context=True,
        context_tls=context.TLSConfig,
    )


class SshError(OSError):
    """The host cannot be reached; the message says why and what to do."""


class SshTunnel:
    """A socket on this machine that forwards to the socket of a remote engine."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._opened = ExitStack()  # the folder, and each connection
        self._ending = weakref.finalize(self, self._opened.close)

    def socket(self) -> str:
        """The path of the local socket; it connects (again) if there is no connection.

        Raises:
            SshError: the host cannot be reached.
        """
        with self._lock:
            if self._folder is None or self._process is None or self._process.poll() is not None:
                self._folder = self._connect()
            return str(self._folder / _SOCKET)

    def complaint(self) -> str:
        return next(iter(self._messages().splitlines()[-1:]), "").strip()

    def close(self) -> None:
        """End the connection; a second call does nothing."""
        self._ending()

    def _connect(self) -> Path:
        where = urlsplit(self._url)
        try:
            user, port, host = where.username, where.port, where.hostname
        except ValueError as fault:
            raise SshError(_EXPECTED) from fault
        if not host or host.startswith("-"):
            raise SshError(_EXPECTED)
        program = shutil.which("ssh")
        if program is None:
            raise SshError("`ssh` is not on PATH: install an OpenSSH client")
        folder = self._folder  # it stays the same, since clients know the path of the socket
        if folder is None:
            parent = Path("/tmp") if len(tempfile.gettempdir()) > _PATH_LIMIT else None
            folder = self._opened.enter_context(owned_folder("agentbench-ssh-", parent))
            self._folder = folder

        options = [part for option in _OPTIONS for part in ("-o", option)]
        forward = ["-L", f"{folder / _SOCKET}:{where.path or DEFAULT_SOCKET}"]
        login = [*(("-l", user) if user else ()), *(("-p", str(port)) if port else ())]
        # Its input ends with this process, even a killed one. Then the command and ssh end, too.
        script = f"echo {_READY}; exec cat > /dev/null"
        with (folder / _MESSAGES).open("wb") as messages:
            process = subprocess.Popen(
                [program, "-T", *options, *forward, *login, "--", host, script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                start_new_session=True,  # we handle Ctrl-C: we remove containers first
            )
        self._opened.callback(_end, process)
        self._process = process

        # The remote command starts after the forwarding. It writes its line at once.
        assert process.stdout is not None
        answer = select.poll()  # `select` cannot watch the descriptors of a process with many
        answer.register(process.stdout, select.POLLIN)
        answered = answer.poll(_CONNECTS_WITHIN * 1000)
        if answered and os.read(process.stdout.fileno(), 1000) == f"{_READY}\n".encode():
            return folder
        _end(process)
        command = " ".join(["ssh", *login, host])
        for text, meaning in _SSH_MEANINGS:
            if text in self._messages().lower():
                raise SshError(meaning.format(login=command))
        last = self.complaint() or f"no answer in {_CONNECTS_WITHIN:.0f} s"
        raise SshError(f"{last}: check that `{command}` works")

    def _messages(self) -> str:
        try:
            return (
                ""
                if self._folder is None
                else (self._folder / _MESSAGES).read_text(errors="replace")
            )
        except OSError:
            return ""


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)  # with the ProxyCommand that it has started
    with process:  # closes its pipes, and waits for it
        pass


def explain_refusal(fault: BaseException) -> str:
    """The reason why no engine answered, and what to do, in one line."""
    message = re.sub(r"\[Errno -?\d+\] ", "", " ".join(str(fault).split()))
    for texts, meaning in _REFUSAL_MEANINGS:
        if any(text.lower() in message.lower() for text in texts):
            return meaning
    return f"{_ERRNO.sub('', message)}: {_START_ENGINE}"


def connect_to_socket(path: str, seconds: float) -> None:
    """Connect to a Unix socket and close the connection."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds)
        connection.connect(path)
