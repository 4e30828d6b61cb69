"""Extracts an agent's change: compares its workspace with the base by content, within limits."""

import hashlib
import io
import re
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from agentbench.core.files import FileContent
from agentbench.integrity import trees
from agentbench.integrity.tool_caches import cache_of
from agentbench.sandbox.archives import TooLongStreamError, limited, open_tar_stream
from agentbench.scoring.evidence import Finding, Severity

# Control characters, line ends, marks that turn the direction of text, lone surrogates.
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)

_FINDINGS = 200  # the maximum; an agent can create any number of odd files


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionLimits:
    """The limits of an extraction."""

    file_bytes: int = 32 * 1024 * 1024
    total_bytes: int = 128 * 1024 * 1024
    files: int = 20_000
    members: int = 500_000
    stream_bytes: int = 16 * 1024 * 1024 * 1024  # including holes of sparse files and hard links
    path_length: int = 1_024


@dataclass(slots=True, kw_only=True)
class WorkspaceChange:
    """An agent's change: new contents of files, and `None` for deleted ones."""

    files: dict[PurePosixPath, FileContent | None] = field(default_factory=dict)
    emptied: tuple[PurePosixPath, ...] = ()  # deleted folders of the base
    findings: tuple[Finding, ...] = ()


def has_control_characters(name: str) -> bool:
    """Whether a path could deceive who reads it; no change has such a file."""
    return _CONTROL.search(name) is not None


def read_change(
    chunks: Iterable[bytes],
    base: trees.WorkspaceTree,
    base_content: trees.BaseContent,
    limits: ExtractionLimits | None = None,
) -> WorkspaceChange:
    """Compare an agent's workspace with the base; refused entries become findings."""
    limits = limits if limits is not None else ExtractionLimits()
    reader = _Reader(base, base_content, limits)
    try:
        with open_tar_stream(limited(chunks, limits.stream_bytes)) as archive:
            for member in archive:
                if not reader.read_member(archive, member):
                    break
    except TooLongStreamError:
        reader.give_up("extraction-limit", f"more than {limits.stream_bytes} bytes to read")
    except tarfile.TarError as error:
        reader.give_up("unreadable-archive", f"the archive is broken: {error}")
    return reader.change()


class _Reader:
    """Reads the members once, and collects changes and refused entries."""

    def __init__(
        self, base: trees.WorkspaceTree, base_content: trees.BaseContent, limits: ExtractionLimits
    ) -> None:
        self._base = base
        self._base_content = base_content
        self._limits = limits
        self._seen: dict[PurePosixPath, trees.TreeEntry] = {}
        self._files: dict[PurePosixPath, FileContent | None] = {}
        self._findings: list[Finding] = []
        self._members = 0
        self._bytes = {False: 0, True: 0}  # True: of tool caches, which have their own limit
        self._cache_files = 0
        self._whole = True

    def read_member(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> bool:
        # Returns false if the limits are reached.
        self._members += 1
        work = len(self._files) - self._cache_files
        if self._members > self._limits.members or work > self._limits.files:
            self.give_up("extraction-limit", "too many files")
            return False
        path = trees.member_path(member)
        if path is None or trees.is_git(path):
            return True
        fault = self._fault(path, member)
        if fault is None:
            self._compare(archive, member, path)
        elif not self._as_in_base(archive, path, member):
            self.refuse("file-refused", _printable(path), fault)
            self._seen.setdefault(path, trees.TreeEntry(kind=trees.EntryKind.OTHER))
        return True

    def refuse(self, rule: str, where: str, what: str) -> None:
        if len(self._findings) < _FINDINGS:
            self._warn(rule, where, what)

    def give_up(self, rule: str, what: str) -> None:
        self._whole = False  # unread files do not count as deleted
        self._warn(rule, "the workspace", what)

    def _warn(self, rule: str, where: str, what: str) -> None:
        finding = Finding(rule=rule, severity=Severity.WARNING, where=where, what=what)
        self._findings.append(finding)

    def change(self) -> WorkspaceChange:
        emptied: list[PurePosixPath] = []
        for path in list(self._files):
            above = [self._seen[parent] for parent in path.parents if parent in self._seen]
            if any(entry.kind is not trees.EntryKind.FOLDER for entry in above):
                # It leads through a file or a link, which no file system allows.
                del self._files[path]
                what = "is below a path that is not a folder"
                self.refuse("file-refused", _printable(path), what)
        for path, entry in self._base.items():
            now = self._seen.get(path)
            if now is None and not self._whole:
                continue
            if entry.kind is trees.EntryKind.FOLDER:
                if now is None or now.kind is trees.EntryKind.FILE:
                    emptied.append(path)
            elif now is None or now.kind is trees.EntryKind.FOLDER:
                self._files[path] = None
        findings = tuple(self._findings)
        return WorkspaceChange(files=self._files, emptied=tuple(emptied), findings=findings)

    def _fault(self, path: PurePosixPath, member: tarfile.TarInfo) -> str | None:
        name = path.as_posix()
        if path.is_absolute() or ".." in path.parts:
            return "leaves the workspace"
        if len(name) > self._limits.path_length or has_control_characters(name):
            return "its name is too long or contains control characters"
        target = self._seen.get(PurePosixPath(member.linkname))
        if member.islnk() and (target is None or target.kind is not trees.EntryKind.FILE):
            return "a hard link to nowhere"
        # A symlink could lead out of the workspace.
        if not (member.isdir() or member.islnk() or member.isreg()):
            return "a symlink" if member.issym() else "neither a regular file nor a folder"
        if member.isreg() and member.size > self._limits.file_bytes:
            return f"{member.size} bytes, more than {self._limits.file_bytes}"
        return None

    # Whether a refused member is unchanged from the base.
    def _as_in_base(
        self, archive: tarfile.TarFile, path: PurePosixPath, member: tarfile.TarInfo
    ) -> bool:
        base = self._base.get(path)
        if base is None or (member.isreg() and member.size != base.size):
            return False
        source = archive.extractfile(member) if member.isreg() else None
        if trees.entry_of(member, source) != base:
            return False
        self._seen[path] = base
        return True

    def _compare(
        self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: PurePosixPath
    ) -> None:
        if member.isdir():
            self._seen[path] = trees.TreeEntry(kind=trees.EntryKind.FOLDER)
            self._forget(path)
            return
        if member.islnk():
            self._compare_link(member, path)
            return
        source = archive.extractfile(member)
        content = source.read() if source is not None else b""
        self._note(path, trees.entry_of(member, io.BytesIO(content)), content)

    def _compare_link(self, member: tarfile.TarInfo, path: PurePosixPath) -> None:
        target = PurePosixPath(member.linkname)
        entry = self._seen[target]
        extracted_bytes = self._bytes[cache_of(path) is not None]
        unchanged = entry == self._base.get(path)
        if unchanged or extracted_bytes + entry.size > self._limits.total_bytes:
            self._note(path, entry, None)  # its content is never read
            return
        linked = self._files.get(target)
        content = linked.content if linked is not None else self._base_content(target)
        if content is None or hashlib.sha256(content).hexdigest() != entry.digest:
            self._seen[path] = entry
            self.refuse("extraction-limit", _printable(path), "a link to a file that was left out")
        else:
            self._note(path, entry, content)

    # Record the state of a path; for a repeated path the last one counts.
    def _note(self, path: PurePosixPath, entry: trees.TreeEntry, content: bytes | None) -> None:
        self._seen[path] = entry
        self._forget(path)
        if entry == self._base.get(path):
            return
        is_cache = cache_of(path) is not None
        self._bytes[is_cache] += entry.size
        too_many = is_cache and self._cache_files >= self._limits.files
        if content is None or too_many or self._bytes[is_cache] > self._limits.total_bytes:
            self.refuse("extraction-limit", _printable(path), "the change is too large, left out")
        else:
            self._files[path] = FileContent(content=content, executable=entry.executable)
            self._cache_files += is_cache

    def _forget(self, path: PurePosixPath) -> None:
        if path in self._files:
            del self._files[path]
            self._cache_files -= cache_of(path) is not None


def _printable(path: PurePosixPath) -> str:
    return ascii(path.as_posix())[1:-1][:200]
