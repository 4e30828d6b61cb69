"""The parts of the host that sandboxes use: Python, users, network settings and certificates.

In place of an image, a sandbox gets a virtual environment of the host's Python. It also gets the
host's certificate authorities, package indexes and proxies, without credentials.
"""

import os
import pwd
import shutil
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from agentbench.sandbox.python_stacks import base_image_name
from agentbench.sandbox.trees import FileOwner

# Unassigned by Debian's policy and by systemd, and mapped in rootless containers, too.
_UNASSIGNED = range(60706, 61184)
_DISTRIBUTIONS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
_INSTALLER = ("pip", "setuptools")  # installed by `venv` unless the system has split it off
_SCRIPT = "#!{python}\nimport sys\nfrom {module} import {main}\nsys.exit({main}())\n"
_SCRIPTS = {
    "pytest": ("pytest", "console_main"),
    "py.test": ("pytest", "console_main"),
    "pip": ("pip._internal.cli.main", "main"),
}
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


def sandbox_user() -> FileOwner | None:
    """A user without a name, or None if the harness has no privileges to drop."""
    if os.geteuid() != 0:
        return None
    used_uids = {entry.pw_uid for entry in pwd.getpwall()}
    uid = next(number for number in _UNASSIGNED if number not in used_uids)
    return FileOwner(uid=uid, gid=uid)


def can_reach(user: FileOwner | None, path: Path) -> bool:
    """Whether a user can reach a path: every parent folder lets other users pass."""
    if user is None:
        return os.access(path, os.R_OK | os.X_OK)
    real = path.resolve()
    return real.exists() and all(folder.stat().st_mode & 0o001 for folder in (real, *real.parents))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPython:
    """An interpreter outside any virtual environment."""

    prefix: Path
    executable: Path
    version: str  # "3.11"
    full_version: str

    @property
    def image_name(self) -> str:
        """The name of a base image with this version in tasks."""
        return base_image_name(self.version)


def host_python() -> HostPython:
    """The interpreter of the harness, without its virtual environment."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    prefix = Path(sys.base_prefix)
    return HostPython(
        prefix=prefix,
        executable=prefix / "bin" / f"python{version}",
        version=version,
        full_version=sys.version.split()[0],
    )


def install_pytest(venv: Path, *, sandbox_path: Path) -> list[Path]:
    """Copy pytest and its dependencies from the harness's own environment, without a network.

    Pip is copied, too, if `venv` did not install it, as on a Debian without python3-venv.

    Args:
        venv: A virtual environment of this Python.
        sandbox_path: The path of this environment in the sandbox.

    Returns:
        All created files and folders.

    Raises:
        OSError: the environment cannot be written.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    (purelib,) = (venv / "lib").glob("python3*/site-packages")
    missing = () if (purelib / "pip").is_dir() else _INSTALLER
    created = set[Path]()
    for name in (*_DISTRIBUTIONS, *missing):
        try:
            files = distribution(name).files or ()
        except PackageNotFoundError:  # the harness's own environment lacks it
            continue
        for file in files:
            if ".." in file.parts or "__pycache__" in file.parts:
                continue
            target = purelib / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(str(file.locate()), target)
            created.add(target)
            created.update(folder for folder in target.parents if purelib in folder.parents)
    for script, (module, main) in _SCRIPTS.items():
        path = venv / "bin" / script
        if not path.exists():
            python = sandbox_path / "bin" / "python"
            path.write_text(_SCRIPT.format(python=python, module=module, main=main))
            path.chmod(0o755)
            created.add(path)
    return list(created)


def ca_bundle(host_env: Mapping[str, str]) -> Path | None:
    """The file of certificate authorities that this machine trusts, including a company's."""
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
    """The variables, and the last `registry =` of `.npmrc`; its other lines may hold tokens."""
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


_RESOLVER_FILES = (Path("/run/systemd/resolve/resolv.conf"), Path("/etc/resolv.conf"))
_PUBLIC_RESOLVERS = ("8.8.8.8", "8.8.4.4")  # Docker's own choice if there is no other


def resolvers() -> tuple[str, ...]:
    """The name servers of this machine that a container can reach."""
    for file in _RESOLVER_FILES:
        try:
            lines = map(str.split, file.read_text("utf-8").splitlines())
        except (OSError, UnicodeDecodeError):
            continue
        named = [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]
        found = tuple(each for each in named if not each.startswith(("127.", "::1")))
        if found:
            return found
    return _PUBLIC_RESOLVERS
