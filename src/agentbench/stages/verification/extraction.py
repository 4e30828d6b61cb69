"""The change an agent made: its workspace against the base, by content, with limits."""

import hashlib
import re
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from agentbench.scoring.evidence import Finding, Severity
from agentbench.stages.verification.tree import (
    BaseContent,
    Entry,
    Kind,
    Tree,
    entry_of,
    is_git,
    member_path,
    open_stream,
)
from agentbench.tasks.patched_file import PatchedFile

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionLimits:
    """How much of an agent's work is taken out."""

    file_bytes: int = 32 * 1024 * 1024
    total_bytes: int = 128 * 1024 * 1024
    files: int = 20_000
    members: int = 500_000
    path_length: int = 1_024


@dataclass(slots=True, kw_only=True)
class Change:
    """What an agent left, against the base: files as they became, `None` for those it removed."""

    files: dict[PurePosixPath, PatchedFile | None] = field(default_factory=dict)
    emptied: tuple[PurePosixPath, ...] = ()  # folders of the base that are gone
    findings: tuple[Finding, ...] = ()


def read_change(
    chunks: Iterable[bytes],
    base: Tree,
    base_content: BaseContent,
    limits: ExtractionLimits | None = None,
) -> Change:
    """Compare an agent's workspace with the base; refused parts become findings."""
    reader = _Reader(base, base_content, limits if limits is not None else ExtractionLimits())
    try:
        with open_stream(chunks) as archive:
            for member in archive:
                if not reader.take(archive, member):
                    break
    except tarfile.TarError as error:
        reader.refuse("unreadable-archive", "the workspace", f"the archive is broken: {error}")
    return reader.change()


class _Reader:
    """Walks the members once; remembers what differs and what was refused."""

    def __init__(self, base: Tree, base_content: BaseContent, limits: ExtractionLimits) -> None:
        self._base = base.entries
        self._base_content = base_content
        self._limits = limits
        self._seen: dict[PurePosixPath, Entry] = {}
        self._files: dict[PurePosixPath, PatchedFile | None] = {}
        self._findings: list[Finding] = []
        self._members = 0
        self._bytes = 0
        self._whole = True

    def take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> bool:
        """Look at one member; false when the limits are used up."""
        self._members += 1
        if self._members > self._limits.members or len(self._files) > self._limits.files:
            self.refuse("extraction-limit", "the workspace", "too many files")
            self._whole = False
            return False
        path = member_path(member)
        if path is None or is_git(path):
            return True
        fault = self._fault(path, member)
        if fault is None:
            self._compare(archive, member, path)
        elif not self._as_in_base(path, member):
            self.refuse("file-refused", _shown(path), fault)
            self._seen.setdefault(path, Entry(kind=Kind.OTHER))
        return True

    def refuse(self, rule: str, where: str, what: str) -> None:
        """Note something that was not taken over."""
        if len(self._findings) < 200:
            self._findings.append(
                Finding(rule=rule, severity=Severity.WARNING, where=where, what=what)
            )

    def change(self) -> Change:
        """What was found; nothing counts as removed when the walk was cut short."""
        emptied: list[PurePosixPath] = []
        if self._whole:
            for path, entry in self._base.items():
                if path in self._seen:
                    continue
                if entry.kind is Kind.FOLDER:
                    emptied.append(path)
                else:
                    self._files.setdefault(path, None)
        return Change(files=self._files, emptied=tuple(emptied), findings=tuple(self._findings))

    def _fault(self, path: PurePosixPath, member: tarfile.TarInfo) -> str | None:
        name = path.as_posix()
        if path.is_absolute() or ".." in path.parts:
            return "leaves the workspace"
        if len(name) > self._limits.path_length or _CONTROL.search(name):
            return "its name is too long or bears control characters"
        if member.islnk() and self._link_target(member) is None:
            return "a hard link to nowhere"
        if not (member.isdir() or member.islnk() or member.isreg()):
            return "a symlink" if member.issym() else "neither a regular file nor a folder"
        if member.isreg() and member.size > self._limits.file_bytes:
            return f"{member.size} bytes, more than {self._limits.file_bytes}"
        return None

    def _link_target(self, member: tarfile.TarInfo) -> Entry | None:
        target = PurePosixPath(member.linkname)
        entry = self._seen.get(target)
        return entry if entry is not None and entry.kind is Kind.FILE else None

    def _as_in_base(self, path: PurePosixPath, member: tarfile.TarInfo) -> bool:
        """Whether a member that is no plain file was just so in the base, and may stay."""
        base = self._base.get(path)
        if base is None or base.kind is Kind.FILE or entry_of(member, None) != base:
            return False
        self._seen[path] = base
        return True

    def _compare(
        self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: PurePosixPath
    ) -> None:
        base = self._base.get(path)
        if member.isdir():
            self._seen[path] = Entry(kind=Kind.FOLDER)
            return
        if member.islnk():
            self._compare_link(member, path, base)
            return
        source = archive.extractfile(member)
        content = source.read() if source is not None else b""
        entry = Entry(
            kind=Kind.FILE,
            digest=hashlib.sha256(content).hexdigest(),
            size=len(content),
            executable=bool(member.mode & 0o100),
        )
        self._seen[path] = entry
        if entry != base:
            self._keep(path, PatchedFile(content=content, executable=entry.executable))

    def _compare_link(
        self, member: tarfile.TarInfo, path: PurePosixPath, base: Entry | None
    ) -> None:
        target = PurePosixPath(member.linkname)
        entry = self._seen[target]
        self._seen[path] = entry
        if entry == base:
            return
        kept = self._files.get(target)
        if kept is None:
            content = self._base_content(target) or b""
            kept = PatchedFile(content=content, executable=entry.executable)
        self._keep(path, kept)

    def _keep(self, path: PurePosixPath, file: PatchedFile) -> None:
        self._bytes += len(file.content)
        if self._bytes > self._limits.total_bytes:
            self.refuse("extraction-limit", _shown(path), "the change is too large, left out")
        else:
            self._files[path] = file


def _shown(path: PurePosixPath) -> str:
    return ascii(path.as_posix())[1:-1][:200]
