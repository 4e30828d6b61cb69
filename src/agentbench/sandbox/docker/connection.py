"""Where a Docker engine is, how it is reached (socket, TLS, an ssh tunnel).

What a failed first connection means.

One connection carries all that is said to the engine. The SDK's own way starts a program for each
request, and its waits have no end.
"""

import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from docker.context import Context, ContextAPI
from docker.errors import DockerException
from docker.tls import TLSConfig

from agentbench.errors import UnavailableError

USUAL_SOCKET = "/var/run/docker.sock"
_TLS_FILES = ("ca.pem", "cert.pem", "key.pem")
_SCHEMES_WITHOUT_TLS = ("unix://", "npipe://", "ssh://", "http+unix://")  # where TLS has no place


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAddress:
    """Where an engine is to be found."""

    url: str | None  # None: the usual socket
    found_by: str  # how it was found, to be read after "found by"
    context: str | None = None  # of the docker command

    @property
    def is_local(self) -> bool:
        """Whether it is a socket of this machine, so that the engine may see its files."""
        return self.url is None or self.url.startswith(("unix://", "npipe://", "http+unix://"))

    @property
    def socket(self) -> str:
        """The path of a local one."""
        return (self.url or USUAL_SOCKET).removeprefix("http+").removeprefix("unix://")

    def tls(self, environ: Mapping[str, str]) -> TLSConfig | None:
        """The certificates to use, of the docker command's context or of DOCKER_CERT_PATH.

        Raises:
            UnavailableError: they are not there.
        """
        if self.url is None or self.url.startswith(_SCHEMES_WITHOUT_TLS):
            return None
        if self.context is not None:
            found = _context()
            return found.TLSConfig if found is not None else None
        return _tls_of(environ)


def find_address(base_url: str | None, environ: Mapping[str, str]) -> EngineAddress:
    """The given one, else DOCKER_HOST's, else that of the docker command's context."""
    if base_url is not None:
        return EngineAddress(url=base_url, found_by="what was given")
    if host := environ.get("DOCKER_HOST"):
        return EngineAddress(url=host, found_by="DOCKER_HOST")
    context = _context()
    host = getattr(context, "Host", None)
    if context is None or not host or context.name == "default":
        return EngineAddress(url=None, found_by="its usual socket")
    return EngineAddress(
        url=str(host), found_by=f"the docker context {context.name}", context=context.name
    )


def _context() -> Context | None:
    """What `docker context use` chose, which the SDK leaves out of account."""
    try:
        return ContextAPI.get_current_context()
    except (DockerException, OSError, ValueError):
        return None  # an unreadable file of the docker command's is not our fault to report


def _tls_of(environ: Mapping[str, str]) -> TLSConfig | None:
    verify = bool(environ.get("DOCKER_TLS_VERIFY"))
    named = environ.get("DOCKER_CERT_PATH")
    if not verify and not named:
        return None
    folder = Path(named) if named else Path.home() / ".docker"
    missing = [name for name in _TLS_FILES if not os.access(folder / name, os.R_OK)]
    if missing:
        raise UnavailableError(
            f"the engine is to be spoken to by TLS, for which {folder} has no {', '.join(missing)} "
            "that can be read: put the engine's CA and your certificate with its key there, or set "
            "DOCKER_CERT_PATH to the folder that has them"
        )
    ca, certificate, key = (str(folder / name) for name in _TLS_FILES)
    return TLSConfig(client_cert=(certificate, key), ca_cert=ca, verify=verify)


_ENGINE_SOCKET = "/var/run/docker.sock"
_EXPECTED = "expected ssh://[user@]host[:port][/path of its socket]"
_READY = "agentbench-ready"
_CONNECTS_WITHIN = 30.0  # seconds
_PATH_LIMIT = 60  # characters
_OPTIONS = (
    "BatchMode=yes",  # nobody is there to be asked
    "ConnectTimeout=10",
    "ControlMaster=no",  # one that is shared would keep our forwarding for ever
    "ControlPath=none",
    "ExitOnForwardFailure=yes",
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
    "StreamLocalBindUnlink=yes",
)
# Outlives a process of ours that is killed, for long enough to remove what that would leave. The
# connection may end before the process is seen to be dead, so that it is looked at for a while; by
# somebody else, since it is told by the end of this one that the connection broke.
_SSH_WRAPPER = """
folder=$1; shift
"$@"
code=$?
(
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    { read -r told < "/proc/$PPID/stat"; } 2> /dev/null || told=") Z"
    case ${told##*) } in
      [ZX]*) rm -rf "$folder"; exit ;;
    esac
    sleep 0.5
  done
) < /dev/null > /dev/null 2>&1 &
exit $code
"""
_SSH_MEANINGS = (
    ("host key verification failed", "its key is not known here: log in once by hand (`{login}`)"),
    ("identification has changed", "its key has changed: see to it by hand (`{login}`)"),
    ("permission denied", "it takes no key of ours: add one to the agent (`ssh-add`)"),
    ("could not resolve", "there is no such host: correct DOCKER_HOST"),
    ("connection refused", "no ssh answers there: start it, or correct DOCKER_HOST"),
    ("timed out", "no ssh answers there in time: see whether `{login}` works"),
)


class SshError(OSError):
    """The host is not reached; the message says why and what to do."""


class SshTunnel:
    """A socket on this machine that leads to an engine's on another, for as long as it is there."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._held = _SshProcess()
        self._ending = weakref.finalize(self, self._held.let_go)

    def socket(self) -> str:
        """The path of the socket here; the connection is made (again) if there is none.

        Raises:
            SshError: the host is not reached.
        """
        with self._lock:
            if self._held.process is None or self._held.process.poll() is not None:
                self._connect()
            return str(self._near)

    def complaint(self) -> str:
        """The last line that ssh said, which tells why a connection through it broke."""
        if self._held.folder is None:
            return ""
        return next(iter(self._said().splitlines()[-1:]), "").strip()

    def close(self) -> None:
        """End the connection; it may be done twice."""
        self._ending()

    @property
    def _near(self) -> Path:
        assert self._held.folder is not None  # made with the connection
        return self._held.folder / "engine.sock"

    def _connect(self) -> None:
        self._held.end_process()
        if self._held.folder is None:  # it stays the same, as clients know the socket by it
            self._held.folder = _short_folder()
        self._held.folder.mkdir(mode=0o700, exist_ok=True)
        process = self._held.process = self._started(_Host.of(self._url))
        assert process.stdout is not None
        if _first_line(process.stdout) == _READY:
            return
        reason = self._reason(_Host.of(self._url))
        self._held.end_process()
        raise SshError(reason)

    def _started(self, host: "_Host") -> "subprocess.Popen[bytes]":
        program = shutil.which("ssh")
        if program is None:
            raise SshError("there is no `ssh` on PATH: install an OpenSSH client")
        options = [part for option in _OPTIONS for part in ("-o", option)]
        forward = ["-L", f"{self._near}:{host.socket}"]
        # Its input ends when this process does, however that ends; then the other side does, too.
        script = f"echo {_READY}; exec cat > /dev/null"
        argv = [program, "-T", *options, *forward, *host.login, "--", host.name, script]
        with self._near.with_name("said").open("wb") as said:
            return subprocess.Popen(
                ["sh", "-c", _SSH_WRAPPER, "sh", str(self._near.parent), *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                start_new_session=True,  # Ctrl-C is for us: containers are to be removed first
            )

    def _said(self) -> str:
        try:
            return self._near.with_name("said").read_text(errors="replace").strip()
        except OSError:
            return ""

    def _reason(self, host: "_Host") -> str:
        said, login = self._said().lower(), " ".join(["ssh", *host.login, host.name])
        for needle, meaning in _SSH_MEANINGS:
            if needle in said:
                return meaning.format(login=login)
        last = self.complaint() or f"it said nothing in {_CONNECTS_WITHIN:.0f} s"
        return f"{last}: see whether `{login}` works"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Host:
    """What a URL says."""

    name: str
    login: tuple[str, ...]
    socket: str  # of the engine, there

    @classmethod
    def of(cls, url: str) -> "_Host":
        where = urlsplit(url)
        try:
            user, port = where.username, where.port
        except ValueError as fault:
            raise SshError(_EXPECTED) from fault
        if not where.hostname or where.hostname.startswith("-"):
            raise SshError(_EXPECTED)
        return cls(
            name=where.hostname,
            login=(*(("-l", user) if user else ()), *(("-p", str(port)) if port else ())),
            socket=where.path or _ENGINE_SOCKET,
        )


class _SshProcess:
    """What is to be let go of in the end."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.folder: Path | None = None

    def end_process(self) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()

    def let_go(self) -> None:
        self.end_process()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None


def _short_folder() -> Path:
    """One that a socket's name has room behind: it may have 107 characters in all."""
    base = tempfile.gettempdir()
    return Path(tempfile.mkdtemp("", "ab-ssh-", base if len(base) < _PATH_LIMIT else "/tmp"))


def _first_line(stream: IO[bytes]) -> str:
    """What is said first, if it is said in time."""
    said: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=lambda: said.put(stream.readline()), daemon=True).start()
    try:
        return said.get(timeout=_CONNECTS_WITHIN).decode(errors="replace").strip()
    except queue.Empty:
        return ""


_START_ENGINE = (
    "start it (`systemctl start docker`, or Docker Desktop), set DOCKER_HOST if it is elsewhere, "
    "or use --sandbox bubblewrap"
)
_REFUSAL_MEANINGS = (
    # Of ours about the engine's certificate: what OpenSSL says.
    (
        ("Hostname mismatch", "IP address mismatch", "doesn't match"),
        "its certificate is for another name: connect by a name that is in it",
    ),
    (("certificate has expired",), "its certificate has expired: have the engine get a new one"),
    (
        ("certificate verify failed", "CERTIFICATE_VERIFY_FAILED"),
        "its certificate is not signed by the CA in ca.pem: put the CA that did into "
        "DOCKER_CERT_PATH",
    ),
    # Of the engine about ours.
    (
        ("certificate required", "bad certificate", "unknown ca", "certificate expired"),
        "it does not take our certificate, or there is none: put one into DOCKER_CERT_PATH as "
        "cert.pem and key.pem that its CA has signed and that has not expired",
    ),
    (
        ("HTTP request to an HTTPS server",),
        "it speaks TLS: set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH",
    ),
    (
        ("WRONG_VERSION_NUMBER", "wrong version number", "record layer failure", "HTTP_REQUEST"),
        "it does not speak TLS: unset DOCKER_TLS_VERIFY and DOCKER_CERT_PATH",
    ),
    (("KEY_VALUES_MISMATCH", "PEM lib", "NO_START_LINE"), "cert.pem and key.pem are no pair"),
    (
        ("Permission denied",),
        "its socket is not for you: join the group docker, or use --sandbox bubblewrap",
    ),
)


def explain_refusal(fault: BaseException) -> str:
    """Why no engine answered, and what to do about it, in one line."""
    said = " ".join(str(fault).split())
    for needles, meaning in _REFUSAL_MEANINGS:
        if any(needle.lower() in said.lower() for needle in needles):
            return meaning
    return f"{said}: {_START_ENGINE}"
