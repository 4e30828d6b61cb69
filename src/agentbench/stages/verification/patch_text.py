"""A change as a unified diff, for people. It is shown, never applied."""

import difflib
import io
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from agentbench.stages.verification.tree import BaseContent
from agentbench.tasks.patched_file import PatchedFile

_DIFFABLE_BYTES = 512 * 1024  # difflib's time grows with the square of a text's length
_DIFFABLE_LINES = 20_000


def render_patch(
    files: Mapping[PurePosixPath, PatchedFile | None], base_content: BaseContent
) -> bytes:
    """The diff of a change against the base; large and binary files are named only."""
    return b"".join(_one(path, base_content(path), files[path]) for path in sorted(files))


def _one(path: PurePosixPath, before: bytes | None, file: PatchedFile | None) -> bytes:
    name = path.as_posix().encode("utf-8", "backslashreplace")
    after = file.content if file is not None else None
    head = [b"diff --git a/%s b/%s\n" % (name, name)]
    mode = b"100755" if file is not None and file.executable else b"100644"
    if before is None:
        head.append(b"new file mode %s\n" % mode)
    elif after is None:
        head.append(b"deleted file mode 100644\n")
    elif before == after:
        head.append(b"new mode %s\n" % mode)
    if not _diffable(before) or not _diffable(after):
        return b"".join(head) + b"Binary or large files differ\n"
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        _lines(before),
        _lines(after),
        b"a/" + name if before is not None else b"/dev/null",
        b"b/" + name if after is not None else b"/dev/null",
    )
    return b"".join(head) + b"".join(_ended(lines))


def _diffable(content: bytes | None) -> bool:
    if content is None:
        return True
    return (
        b"\0" not in content
        and len(content) <= _DIFFABLE_BYTES
        and content.count(b"\n") <= _DIFFABLE_LINES
    )


def _lines(content: bytes | None) -> list[bytes]:
    return io.BytesIO(content or b"").readlines()


def _ended(lines: Iterable[bytes]) -> Iterable[bytes]:
    for line in lines:
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
