"""The distribution that this package comes from, and the command that adds an extra to it."""

import json
import shlex
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from packaging.direct_url import DirectUrl

DISTRIBUTION = "agentbench-verdict"
"""Its name on package indexes. There, `agentbench` is another project."""

_REPOSITORY = Path(__file__).parents[2]


def install_command(*extras: str) -> str:
    """The shell command that installs extras of this very distribution.

    It names the folder, file or repository that the distribution was installed from, as PEP 610
    records it. It names the package index only if the distribution came from there: on an index
    that does not have our name yet, somebody else could take it.
    """
    origin = _origin()
    chosen = f"[{','.join(extras)}]" if extras else ""
    return f"{_pip()} install {_requirement(chosen, origin)}"


def _requirement(extras: str, origin: "DirectUrl | None") -> str:
    if origin is None:
        return _quoted(f"{DISTRIBUTION}{extras}")
    if origin.vcs_info is not None:
        url = f"{origin.vcs_info.vcs}+{origin.url}@{origin.vcs_info.commit_id}"
        folder = f"#subdirectory={origin.subdirectory}" if origin.subdirectory else ""
        return _quoted(f"{DISTRIBUTION}{extras} @ {url}{folder}")
    parts = urlsplit(origin.url)
    if parts.scheme != "file":
        return _quoted(f"{DISTRIBUTION}{extras} @ {origin.url}")
    editable = "-e " if origin.dir_info is not None and origin.dir_info.editable else ""
    return f"{editable}{_quoted(unquote(parts.path) + extras)}"


def _origin() -> "DirectUrl | None":
    """Where the distribution was installed from; None: from a package index."""
    from packaging.direct_url import DirectUrl, DirectUrlValidationError, DirInfo

    try:
        text = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:  # the package was put on the path without an installation
        return DirectUrl(url=_REPOSITORY.as_uri(), dir_info=DirInfo(editable=True))
    try:
        return DirectUrl.from_dict(json.loads(text)) if text else None
    except (ValueError, DirectUrlValidationError):
        return None


def _pip() -> str:
    """The pip of the running Python, in the way a shell finds it."""
    found = shutil.which("pip")
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return "pip"
    return f"{shlex.quote(sys.executable)} -m pip"


def _quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text else shlex.quote(text)
