"""Files outside the workspace that a verifier with its own environment gets from the agent's.

They are copied to the results of the agent's sandbox by a command in it, and read from there as an
untrusted stream; those of a service are read from its container. Only regular files are taken.
"""

import tarfile
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.attempt.context import Artifacts, PreparedContext
from agentbench.core.files import FileContent
from agentbench.errors import SandboxError
from agentbench.integrity.trees import member_path
from agentbench.sandbox.archives import limited, open_tar_stream, tar_of_files
from agentbench.sandbox.interface import Command, HasServices, Sandbox, Stream
from agentbench.tasks.scripts import service_path
from agentbench.tasks.users import AGENT_USER, ROOT_USER
from agentbench.taxonomy import Fault

_Found = dict[PurePosixPath, dict[PurePosixPath, FileContent]]
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
_REWARDS = PurePosixPath("/logs/verifier")
_COPY_TIMEOUT = timedelta(minutes=5)
_BYTES = 256 << 20
_MEMBERS = 20_000


def outside_workspace(takes: Iterable[str] | None) -> tuple[PurePosixPath, ...]:
    """The absolute paths that a verifier takes."""
    return tuple(PurePosixPath(path) for path in takes or () if path.startswith("/"))


def service_paths(takes: Iterable[str] | None) -> tuple[tuple[str, PurePosixPath], ...]:
    """The services' paths that a verifier takes, with their services."""
    return tuple(each for each in map(service_path, takes or ()) if each is not None)


def collect_artifacts(context: PreparedContext, sandbox: Sandbox) -> None:
    """Run the task's commands, and copy the paths to the results, before the processes end.

    Missing paths are left out.
    """
    verifier = context.task.answer_key.verifier
    hooks = verifier.collect if verifier is not None else ()
    for hook in (each for each in hooks if each.service is None):
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
    """The collected files of an ended sandbox and of its services, after their own commands."""
    artifacts: _Found = {}
    try:
        _read_of_sandbox(context, sandbox, artifacts)
        if isinstance(sandbox, HasServices):
            _run_hooks_of_services(context, sandbox)
            _read_of_services(context, sandbox, artifacts)
    except tarfile.TarError as error:
        what = f"the files outside the workspace cannot be read: {error}"
        raise SandboxError(what).blamed_on(Fault.AGENT) from error
    return artifacts


def _read_of_sandbox(context: PreparedContext, sandbox: Sandbox, artifacts: _Found) -> None:
    paths = _paths(context)
    if not paths:
        return
    verifier = context.task.answer_key.verifier
    with sandbox.read_tree(sandbox.results / _FOLDER) as chunks:
        found, folders = _read(chunks)
    for number, path in enumerate(paths):
        folder = path if str(number) in folders else path.parent
        own = {
            file.relative_to(str(number)): content
            for file, content in found.items()
            if file.parts[0] == str(number)
        }
        if own or str(number) in folders:
            taken = {
                name: content
                for name, content in own.items()
                if verifier is not None and verifier.is_taken(folder / name)
            }
            _add(artifacts, folder, taken)


def _add(
    artifacts: _Found, folder: PurePosixPath, files: Mapping[PurePosixPath, FileContent]
) -> None:
    # A task may declare /logs or /logs/verifier as an artifact. If the script then writes no
    # reward, one that the agent left there would count: it resolved such a task.
    place = PurePosixPath("/", *folder.parts[1:])  # also of //logs
    files = {n: f for n, f in files.items() if not (place / n).is_relative_to(_REWARDS)}
    artifacts[folder] = {**files, **artifacts.get(folder, {})}  # the first one of a name counts


def _run_hooks_of_services(context: PreparedContext, sandbox: HasServices) -> None:
    verifier = context.task.answer_key.verifier
    for hook in verifier.collect if verifier is not None else ():
        if hook.service is None:
            continue
        command = Command(
            argv=("sh", "-c", hook.command),
            timeout=timedelta(seconds=hook.timeout_s),
            user=hook.user,
            sink=context.sink,
        )
        try:
            code = sandbox.run_in_service(hook.service, command)
            outcome = f"exit code {code}" if code is not None else "time limit exceeded"
        except SandboxError as error:
            context.provider.check()
            outcome = str(error)
        line = f"collect in service {hook.service}: {outcome}\n"
        context.sink(Stream.STDERR, line.encode("utf-8", "replace"))


def _read_of_services(context: PreparedContext, sandbox: HasServices, artifacts: _Found) -> None:
    verifier = context.task.answer_key.verifier
    for service, path in service_paths(verifier.takes if verifier is not None else ()):
        try:
            with sandbox.read_from_service(service, path) as chunks:
                found, folders = _read(chunks, of_folder=path.name)
        except SandboxError as error:  # usually the path is missing
            context.provider.check()
            context.sink(Stream.STDERR, f"{service}:{path}: {error}\n".encode("utf-8", "replace"))
            continue
        if folders:
            inside = {file.relative_to(path.name): each for file, each in found.items()}
            _add(artifacts, path, inside)
        else:
            _add(artifacts, path.parent, found)


def _read(
    chunks: Iterable[bytes], of_folder: str = ""
) -> tuple[dict[PurePosixPath, FileContent], set[str]]:
    """The files, and the names of the paths that are folders."""
    # An untrusted stream: links, devices and names with control characters are not taken.
    found: dict[PurePosixPath, FileContent] = {}
    folders = set[str]()
    with open_tar_stream(limited(chunks, _BYTES)) as archive:
        for number, member in enumerate(archive):
            if number == _MEMBERS:
                raise tarfile.TarError(f"more than {_MEMBERS:,} files")
            path = member_path(member)
            if of_folder and member.isdir() and path == PurePosixPath(of_folder):
                folders.add(of_folder)
            source = archive.extractfile(member) if member.isreg() else None
            if path is None or source is None:
                continue
            if not of_folder and path.suffix == ".folder" and len(path.parts) == 1:
                folders.add(path.stem)
            else:
                executable = bool(member.mode & 0o100)
                found[path] = FileContent(content=source.read(), executable=executable)
    return found, folders


def write_artifacts(artifacts: Artifacts, sandbox: Sandbox) -> None:
    """Write the files to their own places in the verifier's sandbox."""
    for folder, files in artifacts.items():
        sandbox.write_tree(folder, tar_of_files(files))


def _paths(context: PreparedContext) -> tuple[PurePosixPath, ...]:
    verifier = context.task.answer_key.verifier
    return outside_workspace(verifier.takes) if verifier is not None else ()
