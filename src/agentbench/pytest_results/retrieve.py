"""Takes the reporters' files out of a sandbox: named files only, of bounded size, as a stream."""

import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import PurePosixPath
from typing import IO

from agentbench.errors import SandboxError
from agentbench.pytest_results.packed import PackedText, Text
from agentbench.pytest_results.run import JSON_REPORT_FILE, JUNIT_FILE, STREAM_FILE
from agentbench.pytest_results.sources import ReportFiles
from agentbench.sandbox.interface import Sandbox

_MIB = 1024 * 1024
_LIMITS = {STREAM_FILE: 256 * _MIB, JSON_REPORT_FILE: 256 * _MIB, JUNIT_FILE: 64 * _MIB}
TOTAL_LIMIT = 1024 * _MIB
"""Bytes that are read from a sandbox before the rest is given up."""

_MEMBER_LIMIT = 1000
_PACKED_FROM = _MIB


def retrieve(
    sandbox: Sandbox, folder: PurePosixPath, *, total_limit: int = TOTAL_LIMIT
) -> ReportFiles:
    """The report files in a folder of a sandbox; whatever else lies there is passed over.

    Raises:
        SandboxError: the sandbox is lost. A folder that is not there is no error.
    """
    try:
        with sandbox.read_tree(folder) as chunks:
            files = dict(_named_files(_Chunks(chunks, total_limit)))
    except SandboxError:
        _ensure_alive(sandbox)
        files = {}
    return ReportFiles(
        stream=files.get(STREAM_FILE),
        json_report=files.get(JSON_REPORT_FILE),
        junit=files.get(JUNIT_FILE),
    )


def _ensure_alive(sandbox: Sandbox) -> None:
    """Tell a folder that is missing, which a test may bring about, from a sandbox that is lost."""
    with sandbox.read_tree(sandbox.results) as chunks:
        next(iter(chunks), None)


def _named_files(chunks: "_Chunks") -> Iterator[tuple[str, Text]]:
    seen: set[str] = set()
    try:
        with tarfile.open(fileobj=chunks, mode="r|") as archive:  # type: ignore[call-overload]  # needs no more of a file than read
            for number, member in enumerate(archive):
                if number >= _MEMBER_LIMIT or member.size > chunks.left:
                    return  # tarfile would count its way past a giant, block by block
                name = str(PurePosixPath(member.name))
                if name not in seen and _is_wanted(name, member):
                    seen.add(name)
                    file = archive.extractfile(member) or BytesIO()
                    yield name, _content(file, member.size)
    except (tarfile.TarError, ValueError, EOFError):
        return  # torn, or past the limit: what was read before stands


def _content(file: IO[bytes], size: int) -> Text:
    if size > _PACKED_FROM:
        return PackedText(file.read)
    return file.read().decode("utf-8", "replace")


def _is_wanted(name: str, member: tarfile.TarInfo) -> bool:
    """Decided on the header alone; sparse files, links and devices are not regular here."""
    regular = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE)
    return regular and 0 <= member.size <= _LIMITS.get(name, -1)


class _Chunks:
    """A readable file over chunks of bytes, up to the total limit."""

    def __init__(self, chunks: Iterator[bytes], limit: int) -> None:
        self._chunks = chunks
        self.left = limit

    def read(self, _size: int) -> bytes:
        """The next chunk, of whatever size it comes in.

        Raises:
            ValueError: the limit is reached.
        """
        chunk = next((chunk for chunk in self._chunks if chunk), b"")  # b"" means the end
        self.left -= len(chunk)
        if self.left < 0:
            raise ValueError("more than a report can hold")
        return chunk
