"""Where pip looks for packages here: its files, its variables, and what they say of the network."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agentbench.errors import UnavailableError
from agentbench.syntax import literal

_SECTIONS = ("global", "install", "download", ":env:")
"""What counts for a download, the last one most."""
_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PipSettings:
    """What of pip's configuration a download needs."""

    index: str | None = None
    """The index's address; None: the public one."""
    more: tuple[str, ...] = ()
    certificates: str | None = None
    proxy: str | None = None


def pip_settings() -> PipSettings:
    """What pip is configured with, of this user on this machine.

    Raises:
        UnavailableError: pip does not say.
    """
    command = [sys.executable, "-m", "pip", "config", "list"]
    try:
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=_SECONDS, env=os.environ
        )
    except (subprocess.SubprocessError, OSError) as fault:
        said = (getattr(fault, "stderr", "") or str(fault)).strip()
        raise UnavailableError(f"`python -m pip config list` fails: {said[-300:]}") from fault
    return settings_in(done.stdout.splitlines())


def settings_in(listed: Iterable[str]) -> PipSettings:
    """The settings in what `pip config list` prints."""
    said = dict(_pair(line) for line in listed if "=" in line)
    more = _last(said, "extra-index-url") or ""
    return PipSettings(
        index=_last(said, "index-url"),
        more=tuple(address for address in more.split() if address.startswith("http")),
        certificates=_last(said, "cert"),
        proxy=_last(said, "proxy"),
    )


def _pair(line: str) -> tuple[str, str]:
    name, _, value = line.partition("=")
    try:
        read = literal(value)
    except (ValueError, SyntaxError):
        read = value
    return name, str(read)


def _last(said: Mapping[str, str], name: str) -> str | None:
    found = [said[f"{section}.{name}"] for section in _SECTIONS if f"{section}.{name}" in said]
    return found[-1] if found else None
