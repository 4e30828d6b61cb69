"""Extracts the agent's changes from its ended sandbox, selects the judged part, saves patches."""

import difflib
import io
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.attempt.context import PreparedContext
from agentbench.core.files import FileContent
from agentbench.errors import GitCloneError, SandboxError
from agentbench.integrity.extraction import ExtractionLimits, WorkspaceChange, read_change
from agentbench.integrity.protection import JudgedChange, ProtectionRules, protect
from agentbench.integrity.suspicious_code import suspicious_code
from agentbench.integrity.tool_caches import ToolCache, separate_caches
from agentbench.integrity.trees import BaseContent
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import Finding
from agentbench.scoring.taxonomy import Fault
from agentbench.tasks.mirror import tracked_files

_GRACE = timedelta(seconds=10)  # for a fresh sandbox to answer


def extract_change(context: PreparedContext, sandbox: Sandbox) -> WorkspaceChange:
    """Read the change from the ended sandbox; a workspace that is gone is the agent's fault.

    Raises:
        SandboxError: it cannot be read.
    """
    prepared, limits = context.prepared, context.limits
    # Twice what the disk may hold, and the names of as many files as there may be.
    stream_bytes = (2 * limits.disk_mib << 20) + 2048 * limits.files
    try:
        sandbox.kill()
        with sandbox.read_tree(sandbox.workspace) as chunks:
            bounds = ExtractionLimits(stream_bytes=stream_bytes)
            return read_change(chunks, prepared.base, prepared.content, bounds)
    except SandboxError as error:
        if _back_end_works(context):
            raise error.blamed_on(Fault.AGENT.value) from error
        raise


def _back_end_works(context: PreparedContext) -> bool:
    """Whether the back end still works, so that the infrastructure has not failed."""
    try:
        with context.provider.open(
            context.prepared.snapshot, limits=context.limits, network=False
        ) as fresh:
            return fresh.run(Command(argv=("true",), timeout=_GRACE)).ok
    except SandboxError:
        return False


def suspicious_findings(context: PreparedContext, change: JudgedChange) -> Iterator[Finding]:
    """Code that cheats need, as information for a reader: honest code may need it too."""
    for path, file in change.files.items():
        if file is not None:
            before = context.prepared.content(path)
            yield from suspicious_code(path.as_posix(), before, file.content)


def judged_change(context: PreparedContext, change: WorkspaceChange) -> JudgedChange:
    """The judged part of a change; saves it as a patch, and the whole if something was dropped."""
    prepared, task = context.prepared, context.task
    listed = (node_id.partition("::")[0] for node_id in task.answer_key.fail_to_pass)
    protection = ProtectionRules(
        test_paths=(*task.problem.test_paths, *listed),
        patterns=task.answer_key.protected,
        hidden=frozenset(context.hidden_tests.files),
        a_script_judges=task.answer_key.verifier is not None,
    )
    work, caches = change, tuple[ToolCache, ...]()
    if not protection.a_script_judges:  # a script may test any of these files
        separated = separate_caches(change.files, prepared.base, lambda: _tracked(context))
        work, caches = replace(change, files=separated.files), separated.caches
    judged = protect(work, protection, prepared.base, prepared.content)
    judged = replace(judged, tool_caches=caches)
    context.save("patch.diff", render_patch(judged.files, prepared.content))
    if judged.dropped or caches:
        context.save("patch.raw.diff", render_patch(change.files, prepared.content))
    return judged


def _tracked(context: PreparedContext) -> AbstractSet[PurePosixPath]:
    """The files that git tracks; all files of the base if git cannot list them."""
    try:
        if context.task.source.workdir is None:
            return tracked_files(context.mirrors.of(context.task.source))
    except GitCloneError:
        pass
    return context.prepared.base.entries.keys()


_DIFFABLE_BYTES = 512 * 1024  # difflib's time grows with the square of a text's length
_DIFFABLE_LINES = 20_000


def render_patch(
    files: Mapping[PurePosixPath, FileContent | None], base_content: BaseContent
) -> bytes:
    """The diff of a change against the base; large and binary files are named only."""
    return b"".join(_file_patch(path, base_content(path), files[path]) for path in sorted(files))


def _file_patch(path: PurePosixPath, before: bytes | None, file: FileContent | None) -> bytes:
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
    return b"".join(head) + b"".join(_with_line_ends(lines))


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


def _with_line_ends(lines: Iterable[bytes]) -> Iterable[bytes]:
    for line in lines:
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
