"""What a sandbox with a network is told of it: proxies, package indexes, certificates."""

from collections.abc import Mapping
from pathlib import Path

_ADDRESSES = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_RETRIES",
]
_CERTIFICATES = [
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
]


def network_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables to hand on; an address with a user in it is a credential and stays here."""
    handed_on = {
        name: environ[name] for name in _ADDRESSES if name in environ and "@" not in environ[name]
    }
    return handed_on | {name: str(path) for name, path in _certificates(environ).items()}


def certificate_files(environ: Mapping[str, str]) -> list[Path]:
    """The files that those variables name, each once; a sandbox has to see them."""
    return list(dict.fromkeys(_certificates(environ).values()))


def _certificates(environ: Mapping[str, str]) -> dict[str, Path]:
    named = {name: Path(environ[name]) for name in _CERTIFICATES if environ.get(name)}
    return {name: path for name, path in named.items() if path.is_absolute() and path.is_file()}
