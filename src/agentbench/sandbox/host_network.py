"""What a command with a network needs of this machine's settings.

Certificate authorities, package indexes and proxies without credentials.
"""

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
    "NODE_EXTRA_CA_CERTS",
)
_ADDRESSES = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "UV_INDEX",
    "UV_EXTRA_INDEX_URL",
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
)
_PLAIN = ("NO_PROXY", "no_proxy", "PIP_TRUSTED_HOST", "PIP_DEFAULT_TIMEOUT")
_UV_NAMES = {"PIP_INDEX_URL": "UV_DEFAULT_INDEX", "PIP_EXTRA_INDEX_URL": "UV_INDEX"}
_UV_DEFAULTS = ("UV_DEFAULT_INDEX", "UV_INDEX_URL")
_NPM = "npm_config_registry"


def ca_bundle(host_env: Mapping[str, str]) -> Path | None:
    """The file of certificate authorities that this machine trusts, a company's own included."""
    candidates = (host_env.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile)
    for candidate in candidates:
        if candidate and Path(candidate).is_file():
            return Path(candidate)
    return None


def ca_variables(bundle: str) -> dict[str, str]:
    """The variables that make Python, pip, uv, git, curl and Node trust a bundle."""
    return dict.fromkeys(_CA_VARIABLES, bundle)


def forwarded_settings(host_env: Mapping[str, str]) -> dict[str, str]:
    """The host's package indexes and proxies, but for those that bear credentials.

    An address on the host's own loopback is left out too: it is somebody else's inside. What pip
    is told, uv is told as well, and npm's registry may stand in the user's `.npmrc`.
    """
    said = _with_npmrc(host_env)
    found = {name: said[name] for name in _PLAIN if said.get(name)}
    for name in _ADDRESSES:
        addresses = said.get(name, "").split()
        if addresses and all(_may_go_in(address) for address in addresses):
            found[name] = " ".join(addresses)
    return _for_uv(found)


def _for_uv(found: Mapping[str, str]) -> dict[str, str]:
    if any(name in found for name in _UV_DEFAULTS):
        return dict(found)
    told = {uv: found[pip] for pip, uv in _UV_NAMES.items() if pip in found}
    return {**told, **found}


def _with_npmrc(host_env: Mapping[str, str]) -> Mapping[str, str]:
    if _NPM in host_env or _NPM.upper() in host_env:
        return host_env
    file = host_env.get("NPM_CONFIG_USERCONFIG") or host_env.get("npm_config_userconfig")
    home = host_env.get("HOME")
    if file is None and home is None:
        return host_env
    registry = _registry_in(Path(file) if file else Path(home or "", ".npmrc"))
    return host_env if registry is None else {**host_env, _NPM: registry}


def _registry_in(npmrc: Path) -> str | None:
    """The last `registry =` of a file, and nothing else of it: it may hold tokens, too."""
    try:
        lines = npmrc.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    found = None
    for line in lines:
        name, _, value = line.partition("=")
        if name.strip() == "registry":
            found = value.strip().strip("\"'")
    return found


def _may_go_in(address: str) -> bool:
    try:
        url = urlsplit(address if "://" in address else f"//{address}")
        host = url.hostname or ""
    except ValueError:
        return False
    local = host in ("localhost", "::1") or host.startswith("127.")
    return bool(host) and not local and url.username is None and url.password is None
