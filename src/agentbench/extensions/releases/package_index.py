"""The package index: requested releases of a package, and their source distributions."""

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Self

import pypi_simple
import requests
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from agentbench.core.files import describe_read_error, read_regular_file
from agentbench.errors import InputError, UnavailableError
from agentbench.python_source.python_syntax import literal
from agentbench.tasks.dataset_rows import Rejection

_MAX_BYTES = 1 << 20
_EXPECTED = "expected PACKAGE [[OLD] NEW]"
_SECTIONS = ("global", "install", "download", ":env:")
"""The sections of pip's configuration that apply to downloads; later ones have priority."""
_PIP_TIMEOUT_S = 60
_INDEX_TIMEOUT_S = 60
_MAX_DOWNLOAD = 64 << 20
_ARCHIVES = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedReleases:
    """A package and two of its releases."""

    package: str  # its normalised name
    old: Version | None = None  # None: the one before `new`
    new: Version | None = None  # None: the newest

    def __str__(self) -> str:
        return " ".join(str(part) for part in (self.package, self.old, self.new) if part)


def parse_requested_releases(words: Sequence[str]) -> RequestedReleases:
    """Parse `PACKAGE`, `PACKAGE NEW` or `PACKAGE OLD NEW`.

    Raises:
        InputError: the name or a version is invalid, or the versions are in the wrong order.
    """
    if not 1 <= len(words) <= 3:
        raise InputError(f"{_EXPECTED}, found {len(words)} words")
    try:
        package = canonicalize_name(words[0], validate=True)
    except InvalidName:
        raise InputError(
            f"package: expected a name on the index, as in `requests`, found {words[0]!r}"
        ) from None
    versions: list[Version] = []
    for word in words[1:]:
        try:
            versions.append(Version(word))
        except InvalidVersion:
            raise InputError(f"version: expected one as in `1.2.3`, found {word!r}") from None
    old, new = versions[0] if len(versions) == 2 else None, versions[-1] if versions else None
    if old is not None and new is not None and old >= new:
        raise InputError(f"version: expected the older one first, found {old} and {new}")
    return RequestedReleases(package=package, old=old, new=new)


def read_requested_releases(path: Path) -> tuple[list[RequestedReleases], list[Rejection]]:
    """Parse the lines of a file, without comments after a `#`, and collect the faults.

    Raises:
        InputError: the file cannot be read as UTF-8 text, or is empty.
    """
    requested: dict[RequestedReleases, None] = {}
    refused = []
    try:
        is_large = path.stat().st_size > _MAX_BYTES
        text = "" if is_large else read_regular_file(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read as UTF-8 text: {describe_read_error(error)}"
        ) from None
    if is_large:
        raise InputError(f"{path}: expected a list of packages, found {_MAX_BYTES} bytes or more")
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            pair = parse_requested_releases(words)
        except InputError as error:
            refused.append(Rejection(where=f"{path}:{number}", what=str(error)))
            continue
        if pair in requested:
            refused.append(Rejection(where=f"{path}:{number}", what=f"{pair} is requested twice"))
        requested[pair] = None
    if not requested and not refused:
        raise InputError(f"{path}: {_EXPECTED} on each line, found none")
    return list(requested), refused


# The index is read through the simple API and not by `pip download`, which builds a source
# distribution's metadata and so runs foreign code on this machine.
@dataclass(frozen=True, slots=True, kw_only=True)
class PipSettings:
    """The part of pip's configuration that a download needs."""

    index: str | None = None  # the index's address; None: the public one
    more: tuple[str, ...] = ()
    certificates: str | None = None
    proxy: str | None = None


def read_pip_settings() -> PipSettings:
    """The configuration of pip for this user on this machine.

    Raises:
        UnavailableError: pip does not print it.
    """
    command = [sys.executable, "-m", "pip", "config", "list"]
    try:
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=_PIP_TIMEOUT_S
        )
    except (subprocess.SubprocessError, OSError) as fault:
        output = (getattr(fault, "stderr", "") or str(fault)).strip()
        raise UnavailableError(f"`python -m pip config list` fails: {output[-300:]}") from fault
    return parse_pip_settings(done.stdout.splitlines())


def parse_pip_settings(listed: Iterable[str]) -> PipSettings:
    """The settings in the output of `pip config list`."""
    options: dict[str, str] = {}
    for line in listed:
        name, equals, value = line.partition("=")
        if equals:
            try:
                options[name] = str(literal(value))
            except (ValueError, SyntaxError):
                options[name] = value
    more = _last_value(options, "extra-index-url") or ""
    return PipSettings(
        index=_last_value(options, "index-url"),
        more=tuple(address for address in more.split() if address.startswith("http")),
        certificates=_last_value(options, "cert"),
        proxy=_last_value(options, "proxy"),
    )


def _last_value(options: Mapping[str, str], name: str) -> str | None:
    found = [
        options[f"{section}.{name}"] for section in _SECTIONS if f"{section}.{name}" in options
    ]
    return found[-1] if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release with a source distribution."""

    package: str
    version: Version
    file: pypi_simple.DistributionPackage
    uploaded: date | None

    @property
    def suffix(self) -> str:
        """The suffix of the archive's name."""
        return next(end for end in _ARCHIVES if self.file.filename.endswith(end))


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageReleases:
    """The two releases for a task."""

    old: Release
    new: Release


class PackageIndex:
    """The indexes that pip uses here."""

    def __init__(self, settings: PipSettings) -> None:
        session = requests.Session()
        if settings.certificates is not None:
            session.verify = settings.certificates
        if settings.proxy is not None:
            session.proxies = dict.fromkeys(("http", "https"), settings.proxy)
        addresses = (settings.index or pypi_simple.PYPI_SIMPLE_ENDPOINT, *settings.more)
        self._session = session
        self._clients = [pypi_simple.PyPISimple(address, session=session) for address in addresses]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._session.close()

    def pair(self, requested: RequestedReleases) -> PackageReleases:
        """Find two releases of a package.

        Raises:
            InputError: there is no such package or version, or one has no source distribution.
            UnavailableError: the index does not answer.
        """
        found: list[pypi_simple.DistributionPackage] = []
        missing = 0
        for client in self._clients:
            with _index_errors(requested.package):
                try:
                    page = client.get_project_page(requested.package, timeout=_INDEX_TIMEOUT_S)
                    found += page.packages
                except pypi_simple.NoSuchProjectError:
                    missing += 1
        if missing == len(self._clients):
            raise InputError("package: the index has none of this name")
        offered = {_version_of(file) for file in found if not file.is_yanked}
        finals = sorted(version for version in offered if version and not version.is_prerelease)
        new = requested.new or next(iter(finals[-1:]), None)
        if new is None:
            raise InputError("version: the index has no release of it that is final")
        old = requested.old or next((v for v in reversed(finals) if v < new), None)
        if old is None:
            raise InputError(f"version: expected a release before {new}, the index has none")
        return PackageReleases(
            old=_release(requested.package, old, found), new=_release(requested.package, new, found)
        )

    def download(self, release: Release, folder: Path) -> Path:
        """Download a release's archive into a folder without running any of it.

        Raises:
            InputError: it is too large, or its digest is wrong.
            UnavailableError: the index does not answer.
        """
        target = folder / f"{release.package}-{release.version}{release.suffix}"
        name = release.file.filename
        with _index_errors(release.package):

            def limited_progress(size: int | None) -> _DownloadLimit:
                counter = _DownloadLimit()
                if size is not None and size > _MAX_DOWNLOAD:
                    counter.update(size)
                return counter

            try:
                self._clients[0].download_package(
                    release.file, target, timeout=_INDEX_TIMEOUT_S, progress=limited_progress
                )
            except (
                pypi_simple.DigestMismatchError,
                pypi_simple.NoDigestsError,
                _TooLargeError,
            ) as error:
                raise InputError(f"{name}: {error}") from None
        return target


class _TooLargeError(Exception):
    """A download exceeds the limit for a source distribution."""


class _DownloadLimit:
    """Counts the downloaded bytes, and stops at the limit."""

    def __init__(self) -> None:
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def update(self, increment: int) -> None:
        """Count more bytes."""
        self._bytes += increment
        if self._bytes > _MAX_DOWNLOAD:
            raise _TooLargeError(f"is larger than {_MAX_DOWNLOAD >> 20} MiB")


def _release(
    package: str, version: Version, found: list[pypi_simple.DistributionPackage]
) -> Release:
    own = [file for file in found if _version_of(file) == version]
    if not own:
        raise InputError(f"version: the index has no {version}")
    sdists = [f for f in own if f.package_type == "sdist" and f.filename.endswith(_ARCHIVES)]
    if not sdists:
        raise InputError(f"sdist: {version} has none, only {own[0].filename}")
    file = sdists[0]
    if file.is_yanked:
        why = f" ({file.yanked_reason})" if file.yanked_reason else ""
        raise InputError(f"version: {version} was withdrawn from the index{why}")
    uploaded = file.upload_time.date() if file.upload_time is not None else None
    return Release(package=package, version=version, file=file, uploaded=uploaded)


def _version_of(file: pypi_simple.DistributionPackage) -> Version | None:
    try:
        return Version(file.version or "")
    except InvalidVersion:
        return None


@contextmanager
def _index_errors(package: str) -> Iterator[None]:
    """Turns every failure of an index into one line."""
    try:
        yield
    except (
        requests.RequestException,
        pypi_simple.UnsupportedRepoVersionError,
        # A page of another kind, or JSON of another shape.
        ValueError,
    ) as error:
        raise UnavailableError(
            f"{package}: the package index does not answer ({type(error).__name__}); try "
            f"`python -m pip download --no-deps {package}`, which uses the same index"
        ) from error
