"""Tars as an engine would stream them: of honest trees, and of what no honest tree holds."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import PurePosixPath

from agentbench.integrity.trees import BaseContent, WorkspaceTree, read_tree

Content = bytes | None  # None: a folder


def member(name: str, kind: bytes = tarfile.REGTYPE, **more) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = kind, 0o755 if kind == tarfile.DIRTYPE else 0o644
    for key, value in more.items():
        setattr(info, key, value)
    return info


def tar_of(*members: tuple[tarfile.TarInfo, bytes] | tarfile.TarInfo, end: bool = True) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for each in members:
            info, content = each if isinstance(each, tuple) else (each, b"")
            if content:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if content else None)
        length = archive.offset
    return buffer.getvalue() if end else buffer.getvalue()[:length]


def tree_tar(files: Mapping[str, Content], executable: frozenset[str] = frozenset()) -> bytes:
    names: dict[str, Content] = {}
    for name in sorted(files):
        for parent in list(PurePosixPath(name).parents)[-2::-1]:
            names.setdefault(parent.as_posix(), None)
        names[name] = files[name]
    return tar_of(
        *(
            member(name, tarfile.DIRTYPE)
            if content is None
            else (member(name, mode=0o755 if name in executable else 0o644), content)
            for name, content in names.items()
        )
    )


def base_of(tar: bytes) -> tuple[WorkspaceTree, BaseContent]:
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        contents = {
            PurePosixPath(info.name): source.read()
            for info in archive
            if info.isreg() and (source := archive.extractfile(info)) is not None
        }
    return read_tree([tar]), contents.get
