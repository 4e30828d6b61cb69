"""The host settings that a command with a network needs.

Certificate authorities, package indexes and proxies, without credentials.
"""

import ssl
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

_CA_VARIABLES = (
    "SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
_ADDRESSES = (
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_DEFAULT_INDEX", "UV_INDEX_URL",
    "UV_INDEX", "UV_EXTRA_INDEX_URL", "NPM_CONFIG_REGISTRY", "npm_config_registry",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
)  # fmt: skip
_PLAIN = ("NO_PROXY", "no_proxy", "PIP_TRUSTED_HOST", "PIP_DEFAULT_TIMEOUT")
_UV_NAMES = {"PIP_INDEX_URL": "UV_DEFAULT_INDEX", "PIP_EXTRA_INDEX_URL": "UV_INDEX"}
_UV_DEFAULTS = ("UV_DEFAULT_INDEX", "UV_INDEX_URL")
_NPM = "npm_config_registry"


def ca_bundle(host_env: Mapping[str, str]) -> Path | None:
    """The file of certificate authorities that this machine trusts, including a company's own."""
    candidates = (host_env.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile)
    for candidate in candidates:
        if candidate and Path(candidate).is_file():
            return Path(candidate)
    return None


def ca_variables(bundle: str) -> dict[str, str]:
    """The variables that make Python, pip, uv, git, curl and Node trust a bundle."""
    return dict.fromkeys(_CA_VARIABLES, bundle)


def forwarded_settings(host_env: Mapping[str, str]) -> dict[str, str]:
    """The host's package indexes and proxies, except those with credentials.

    Addresses on the host's loopback interface are omitted, too: a sandbox cannot reach them. The
    settings of pip also become those of uv. The registry of npm may be in the user's `.npmrc`.
    """
    settings = _with_npmrc(host_env)
    found = {name: settings[name] for name in _PLAIN if settings.get(name)}
    for name in _ADDRESSES:
        addresses = settings.get(name, "").split()
        if addresses and all(_is_public(address) for address in addresses):
            found[name] = " ".join(addresses)
    if any(name in found for name in _UV_DEFAULTS):
        return found
    return {**{uv: found[pip] for pip, uv in _UV_NAMES.items() if pip in found}, **found}


def _with_npmrc(host_env: Mapping[str, str]) -> Mapping[str, str]:
    """The variables, and the last `registry =` of `.npmrc`; nothing else of it: it holds tokens."""
    if _NPM in host_env or _NPM.upper() in host_env:
        return host_env
    file = host_env.get("NPM_CONFIG_USERCONFIG") or host_env.get("npm_config_userconfig")
    home = host_env.get("HOME")
    if file is None and home is None:
        return host_env
    try:
        lines = (Path(file) if file else Path(home or "", ".npmrc")).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return host_env
    settings = [line.partition("=") for line in lines]
    found = [
        value.strip().strip("\"'") for name, _, value in settings if name.strip() == "registry"
    ]
    return {**host_env, _NPM: found[-1]} if found else host_env


def _is_public(address: str) -> bool:
    """Whether an address has a host, no credentials, and does not mean this machine."""
    try:
        url = urlsplit(address if "://" in address else f"//{address}")
        host = url.hostname or ""
    except ValueError:
        return False
    local = host in ("localhost", "::1") or host.startswith("127.")
    return bool(host) and not local and url.username is None and url.password is None
