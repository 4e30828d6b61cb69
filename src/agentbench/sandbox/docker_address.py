"""Where the engine is, how that was found out, and what TLS it is to be spoken to with."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from docker.context import Context, ContextAPI
from docker.errors import DockerException
from docker.tls import TLSConfig

from agentbench.errors import UnavailableError

USUAL_SOCKET = "/var/run/docker.sock"
_FILES = ("ca.pem", "cert.pem", "key.pem")
_UNENCRYPTED_TOO = ("unix://", "npipe://", "ssh://", "http+unix://")  # where TLS has no place


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where an engine is to be found."""

    url: str | None  # None: the usual socket
    way: str  # how it was found, to be read after "found by"
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
        if self.url is None or self.url.startswith(_UNENCRYPTED_TOO):
            return None
        if self.context is not None:
            found = _context()
            return found.TLSConfig if found is not None else None
        return _tls_of(environ)


def find_address(base_url: str | None, environ: Mapping[str, str]) -> Address:
    """The given one, else DOCKER_HOST's, else that of the docker command's context."""
    if base_url is not None:
        return Address(url=base_url, way="what was given")
    if host := environ.get("DOCKER_HOST"):
        return Address(url=host, way="DOCKER_HOST")
    context = _context()
    host = getattr(context, "Host", None)
    if context is None or not host or context.name == "default":
        return Address(url=None, way="its usual socket")
    return Address(url=str(host), way=f"the docker context {context.name}", context=context.name)


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
    missing = [name for name in _FILES if not os.access(folder / name, os.R_OK)]
    if missing:
        raise UnavailableError(
            f"the engine is to be spoken to by TLS, for which {folder} has no {', '.join(missing)} "
            "that can be read: put the engine's CA and your certificate with its key there, or set "
            "DOCKER_CERT_PATH to the folder that has them"
        )
    ca, certificate, key = (str(folder / name) for name in _FILES)
    return TLSConfig(client_cert=(certificate, key), ca_cert=ca, verify=verify)
