"""What a command with a network needs of the host's settings, as far as it holds no secret."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

_CA_VARIABLES = (
    "SSL_CERT_FILE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
)
_ADDRESSES = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
)
_PLAIN = ("NO_PROXY", "no_proxy", "PIP_TRUSTED_HOST", "PIP_DEFAULT_TIMEOUT")


def ca_bundle(host_env: Mapping[str, str]) -> Path | None:
    """The file of certificate authorities that this machine trusts, a company's own included."""
    candidates = (host_env.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile)
    for candidate in candidates:
        if candidate and Path(candidate).is_file():
            return Path(candidate)
    return None


def ca_variables(bundle: str) -> dict[str, str]:
    """The variables that make Python, pip, git and curl trust a bundle."""
    return dict.fromkeys(_CA_VARIABLES, bundle)


def forwarded(host_env: Mapping[str, str]) -> dict[str, str]:
    """The host's package index and proxies, but for those that bear credentials.

    An address on the host's own loopback is left out too: it is somebody else's inside.
    """
    found = {name: host_env[name] for name in _PLAIN if host_env.get(name)}
    for name in _ADDRESSES:
        addresses = host_env.get(name, "").split()
        if addresses and all(_may_go_in(address) for address in addresses):
            found[name] = " ".join(addresses)
    return found


def _may_go_in(address: str) -> bool:
    try:
        url = urlsplit(address if "://" in address else f"//{address}")
        host = url.hostname or ""
    except ValueError:
        return False
    local = host in ("localhost", "::1") or host.startswith("127.")
    return bool(host) and not local and url.username is None and url.password is None
