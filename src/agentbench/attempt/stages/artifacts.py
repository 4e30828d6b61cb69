"""Files outside the workspace that a verifier with its own environment gets from the agent's.

They are copied to the results of the agent's sandbox by a command in it, and read from there as an
untrusted stream. Only regular files are taken.
"""

import tarfile
from collections.abc import Iterable
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.attempt.context import Artifacts, PreparedContext
from agentbench.core.choices import AGENT_USER, ROOT_USER
from agentbench.core.files import FileContent
from agentbench.errors import SandboxError
from agentbench.integrity.trees import member_path
from agentbench.sandbox.archives import limited, open_tar_stream, tar_of_files
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.taxonomy import Fault

_FOLDER = "artifacts"
_COPY = """\
rm -rf "$1"
mkdir -p "$1" && cd "$1" || exit
shift
number=0
for source; do
  mkdir "$number"
  if [ -d "$source" ]; then cp -RL "$source/." "$number/"; touch "$number.folder"
  elif [ -f "$source" ]; then cp -L "$source" "$number/"; fi
  number=$((number + 1))
done 2> /dev/null
exit 0
"""
_COPY_TIMEOUT = timedelta(minutes=5)
_BYTES = 256 << 20
_MEMBERS = 20_000


def outside_workspace(takes: Iterable[str] | None) -> tuple[PurePosixPath, ...]:
    """The absolute ones among the paths that a verifier takes."""
    return tuple(PurePosixPath(path) for path in takes or () if path.startswith("/"))


def collect_artifacts(context: PreparedContext, sandbox: Sandbox) -> None:
    """Run the task's commands, and copy the paths to the results, before the processes end.

    Missing paths are left out.

    Raises:
        SandboxError: the sandbox is lost.
    """
    verifier = context.task.answer_key.verifier
    for hook in verifier.collect if verifier is not None else ():
        sandbox.run(
            Command(
                argv=("sh", "-c", hook.command),
                timeout=timedelta(seconds=hook.timeout_s),
                env=context.task.environment.env,
                user=hook.user or context.task.environment.user,
                sink=context.sink,
            )
        )
    paths = _paths(context)
    if paths:
        where = f"{sandbox.results}/{_FOLDER}"
        argv = ("sh", "-c", _COPY, "sh", where, *map(str, paths))
        user = AGENT_USER if context.task.agent_sandbox_user == AGENT_USER else ROOT_USER
        sandbox.run(Command(argv=argv, timeout=_COPY_TIMEOUT, cwd=PurePosixPath("/"), user=user))


def read_artifacts(context: PreparedContext, sandbox: Sandbox) -> Artifacts:
    """The collected files of an ended sandbox.

    Raises:
        SandboxError: the sandbox is lost, or the files exceed a limit, by the agent's fault.
    """
    paths = _paths(context)
    if not paths:
        return {}
    try:
        with sandbox.read_tree(sandbox.results / _FOLDER) as chunks:
            found, folders = _read(chunks)
    except tarfile.TarError as error:
        what = f"the files outside the workspace cannot be read: {error}"
        raise SandboxError(what).blamed_on(Fault.AGENT.value) from error
    artifacts: dict[PurePosixPath, dict[PurePosixPath, FileContent]] = {}
    for number, path in enumerate(paths):
        own = {
            file.relative_to(str(number)): content
            for file, content in found.items()
            if file.parts[0] == str(number)
        }
        if own or str(number) in folders:
            artifacts[path if str(number) in folders else path.parent] = own
    return artifacts


def _read(chunks: Iterable[bytes]) -> tuple[dict[PurePosixPath, FileContent], set[str]]:
    """The files, and the numbers of the paths that are folders."""
    found: dict[PurePosixPath, FileContent] = {}
    folders = set[str]()
    with open_tar_stream(limited(chunks, _BYTES)) as archive:
        for number, member in enumerate(archive):
            if number == _MEMBERS:
                raise tarfile.TarError(f"more than {_MEMBERS:,} files")
            path = member_path(member)
            source = archive.extractfile(member) if member.isreg() else None
            if path is None or source is None:
                continue
            if path.suffix == ".folder" and len(path.parts) == 1:
                folders.add(path.stem)
            else:
                executable = bool(member.mode & 0o100)
                found[path] = FileContent(content=source.read(), executable=executable)
    return found, folders


def write_artifacts(artifacts: Artifacts, sandbox: Sandbox) -> None:
    """Write the files to their own places in the verifier's sandbox.

    Raises:
        SandboxError: the sandbox is lost, or refuses them.
    """
    for folder, files in artifacts.items():
        sandbox.write_tree(folder, tar_of_files(files))


def _paths(context: PreparedContext) -> tuple[PurePosixPath, ...]:
    verifier = context.task.answer_key.verifier
    return outside_workspace(verifier.takes) if verifier is not None else ()
