"""A task's own verifier script: runs it on the agent's work, and reads its rewards.

The script and its files are written to a fresh sandbox after the agent has ended; no agent sees
them. The rewards are read from a bounded tar stream; it is not unpacked, and no link is followed.
`reward.json` outranks `reward.txt`, as in Harbor.
"""

import json
import math
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.attempt.agent_work.artifacts import write_artifacts
from agentbench.attempt.context import AgentRunOutput, PreparedContext
from agentbench.attempt.judged_tests import judged_timeout, write_files
from agentbench.attempt.sandboxes import (
    await_health,
    open_sandbox,
    require_services,
    service_warnings,
    watched_services,
)
from agentbench.attempt.task_image import resolve_image
from agentbench.core.files import FileContent
from agentbench.errors import DoesNotFitError, SandboxError
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.trees import EntryKind, member_path
from agentbench.sandbox.archives import limited, open_tar_stream, tar_of_files
from agentbench.sandbox.egress.plan import NetworkPlan
from agentbench.sandbox.interface import (
    Command,
    ImageId,
    LastingSandbox,
    Sandbox,
    SnapshotId,
)
from agentbench.scoring.evidence import Evidence, RewardFacts
from agentbench.tasks.scripts import Verifier, script_files
from agentbench.tasks.task import Task
from agentbench.tasks.users import AGENT_USER, ROOT_USER
from agentbench.taxonomy import Fault, StageName
from agentbench.test_runs import script_reports

BASELINE = "baseline"
"""The name of the run before the agent works."""

_REWARD_BYTES = 64 * 1024
_REPORT_BYTES = 4 * 1024 * 1024
_STREAM_BYTES = 256 * 1024 * 1024
_MEMBERS = 10_000
_NAMES = 100
_NAME_LENGTH = 100
_REWARD_JSON, _REWARD_TEXT = "reward.json", "reward.txt"
_REPORTS = frozenset({script_reports.CTRF, script_reports.JUNIT})
_TESTS_FOLDER = PurePosixPath("/tests")
_VERIFIER_LOGS = PurePosixPath("/logs/verifier")
_AGENT_LOGS = PurePosixPath("/logs/agent")
_EMPTY = """\
rm -rf "$@" 2> /dev/null
mkdir -p "$@" && find "$@" -mindepth 1 -delete && shift && chmod 777 "$@"
"""
_EMPTY_TIMEOUT = timedelta(minutes=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierOutput:
    """The rewards and reports of a verifier."""

    facts: RewardFacts
    reports: Mapping[str, bytes] = field(default_factory=dict)  # of tests, in common formats


class _WrongRewardError(ValueError):
    """A file of rewards has invalid content; the message says which."""


NO_VERIFIER_OUTPUT = VerifierOutput(
    facts=RewardFacts(
        fault=f"the verifier left no {_REWARD_TEXT} or {_REWARD_JSON} in /logs/verifier"
    )
)
"""The output if the verifier's folder does not exist."""


def read_verifier_output(chunks: Iterable[bytes]) -> VerifierOutput:
    """Read the rewards and the reports from the tar of the verifier's folder."""
    files: dict[str, bytes] = {}
    # The folder is an untrusted stream: the agent's code may have written it, with links and names
    # of any size.
    faults: dict[str, str] = {}
    known = {_REWARD_JSON, _REWARD_TEXT, *_REPORTS}
    try:
        with open_tar_stream(limited(chunks, _STREAM_BYTES)) as archive:
            for number, member in enumerate(archive):
                if number == _MEMBERS:
                    break
                path = member_path(member)
                if path is None or len(path.parts) != 1 or path.name not in known:
                    continue
                most = _REPORT_BYTES if path.name in _REPORTS else _REWARD_BYTES
                if not member.isreg():
                    faults[path.name] = f"{path.name} is not a regular file"
                elif member.size > most:
                    faults[path.name] = f"{path.name} has {member.size} bytes, more than {most}"
                else:
                    source = archive.extractfile(member)
                    files[path.name] = source.read() if source is not None else b""
    except tarfile.TarError as error:
        faults[""] = f"the verifier's files cannot be read: {str(error)[:100]}"
    reports = {name: files[name] for name in sorted(_REPORTS & files.keys())}
    facts = _facts(files, faults).replace(tests=script_reports.read_script_tests(reports))
    return VerifierOutput(facts=facts, reports=reports)


def _facts(files: Mapping[str, bytes], faults: Mapping[str, str]) -> RewardFacts:
    if "" in faults:
        return RewardFacts(fault=faults[""])
    for name, parse in ((_REWARD_JSON, _parsed_json), (_REWARD_TEXT, _parsed_text)):
        if name in faults:
            return RewardFacts(fault=faults[name])
        if name in files:
            try:
                return RewardFacts(rewards=parse(files[name]))
            except _WrongRewardError as error:
                return RewardFacts(fault=f"{name} {error}")
    return NO_VERIFIER_OUTPUT.facts


def _parsed_text(content: bytes) -> dict[str, float]:
    try:
        number = float(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise _WrongRewardError("is not text") from None
    except ValueError:
        raise _WrongRewardError(f"is {_excerpt(content)}, which is not a number") from None
    return {"reward": _finite(number)}


def _parsed_json(content: bytes) -> dict[str, float]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise _WrongRewardError(f"is {_excerpt(content)}, which is not JSON") from None
    if not isinstance(found, dict) or not found:
        raise _WrongRewardError("is not an object of numbers")
    if len(found) > _NAMES or any(len(name) > _NAME_LENGTH for name in found):
        raise _WrongRewardError(f"names more than {_NAMES} rewards, or one at too great a length")
    return {name: _number(name, value) for name, value in found.items()}


def _number(name: str, value: object) -> float:
    if not isinstance(value, (int, float)):
        raise _WrongRewardError(f"gives {name} a value that is not a number")
    try:
        return _finite(float(value))
    except OverflowError:
        raise _WrongRewardError(f"gives {name} a number that is too large") from None


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise _WrongRewardError(f"gives {number}, which is not a finite number")
    return number


def _excerpt(content: bytes) -> str:
    return ascii(content[:40].decode("utf-8", "replace"))


def run_verifier(
    context: PreparedContext,
    change: JudgedChange | None,
    *,
    name: str,
    work: AgentRunOutput | None = None,
    ends_sandbox: bool = True,
) -> Evidence:
    """Run the task's verifier on the prepared state, with an agent's change if there is one.

    Args:
        context: The inputs; the task has a verifier.
        change: The agent's change.
        name: The name of the run, for its files. In the baseline run, no service may fail.
        work: The agent's work: its sandbox if the script judges there, and its other files.
        ends_sandbox: Whether no command can be run in that sandbox afterwards.

    Raises:
        SandboxError: the sandbox could not be created or is lost.
        ServiceError: a service has failed in the baseline run.
        UnavailableError: the verifier's own image is not available.
        InputError: a file of the verifier cannot be read.
    """
    task = context.task
    verifier = task.answer_key.verifier
    assert verifier is not None
    place = work.sandbox if work is not None else None
    opened = _opened(context, verifier) if place is None else nullcontext(place)
    with opened as sandbox, watched_services(context, sandbox) as failures:
        if place is None:
            if verifier.is_shared:
                await_health(context, sandbox)
            if change is not None:
                taken = {p: file for p, file in change.files.items() if verifier.is_taken(p)}
                emptied = [path for path in change.emptied if verifier.is_taken(path)]
                try:
                    write_files(sandbox, taken, emptied=emptied, edited_at=context.edited_at)
                except DoesNotFitError as error:
                    raise error.blamed_on(Fault.AGENT) from error
            if work is not None:
                write_artifacts(work.artifacts, sandbox)
        else:
            empty_script_folders(task, place)
            if isinstance(place, LastingSandbox):
                place.set_network(verifier.network)
        files = {path: f for each in task.script_folders for path, f in script_files(each).items()}
        sandbox.write_tree(_TESTS_FOLDER, tar_of_files(files))
        command = sandbox.run(
            Command(
                argv=("sh", "-c", verifier.command),
                timeout=judged_timeout(context),
                env={**task.environment.env, **verifier.env},
                sink=context.sink,
                user=verifier.user or task.environment.user,
                cwd=None if verifier.workdir is None else PurePosixPath(verifier.workdir),
            )
        )
        with ExitStack() as stack:
            if ends_sandbox:
                sandbox.kill()
            elif isinstance(sandbox, LastingSandbox):
                stack.enter_context(sandbox.frozen())
            output = _verifier_output(context, sandbox)
    if name == BASELINE or context.stage is StageName.BASELINE_RUN:
        require_services(context, failures)
    for file, content in output.reports.items():
        context.save(f"{name}-{file}", content)
    return Evidence(
        command=command,
        rewards=output.facts,
        memory_limit_mib=verifier.memory_mib or task.environment.memory_mib,
        own_seconds=command.duration.total_seconds(),
        warnings=service_warnings(failures),
    )


@contextmanager
def _opened(context: PreparedContext, verifier: Verifier) -> Iterator[Sandbox]:
    prepared = context.prepared
    limits = replace(
        context.limits,
        user=verifier.user or context.limits.user,
        cpus=verifier.cpus or context.limits.cpus,
        memory_mib=verifier.memory_mib or context.limits.memory_mib,
    )
    update: dict[str, object] = {
        "env": {**context.task.environment.env, **verifier.env},
        "user": limits.user,
    }
    if verifier.has_image:
        own_files = {"dockerfile": verifier.dockerfile, "compose": verifier.compose}
        update |= {
            key: context.task.folder / file if file else None for key, file in own_files.items()
        }
        update["image"] = verifier.image
    environment = context.task.environment.replace(**update)
    context = replace(context, task=context.task.replace(environment=environment))
    source: ImageId | SnapshotId = prepared.snapshot
    if verifier.has_image:
        source = resolve_image(context.task, context.provider)
        context = replace(context, image=source)
    network = NetworkPlan(first=verifier.network)
    with open_sandbox(context, source, limits=limits, network=network, use=context.use) as sandbox:
        if verifier.has_image:
            write_files(
                sandbox,
                {
                    path: FileContent(
                        content=prepared.content(path) or b"", executable=entry.executable
                    )
                    for path, entry in prepared.base.items()
                    if entry.kind is EntryKind.FILE and verifier.is_taken(path)
                },
            )
        else:
            files = context.task.step_files().items()
            write_files(sandbox, {path: f for path, f in files if verifier.is_taken(path)})
        yield sandbox


def empty_script_folders(task: Task, place: Sandbox) -> None:
    """Empty the script's folders in the agent's sandbox; with steps, the agent's logs, too."""
    owner = AGENT_USER if task.agent_sandbox_user == AGENT_USER else ROOT_USER
    folders = [_TESTS_FOLDER, _VERIFIER_LOGS, *([_AGENT_LOGS] if task.steps else [])]
    argv = ("sh", "-c", _EMPTY, "sh", *map(str, folders))
    emptied = place.run(Command(argv=argv, timeout=_EMPTY_TIMEOUT, user=owner))
    if not emptied.ok:
        raise SandboxError(f"cannot empty /tests: {emptied.stderr.strip()[:200]}").blamed_on(
            Fault.AGENT
        )


# The content of /logs/verifier; empty if the script removed that folder.
def _verifier_output(context: PreparedContext, sandbox: Sandbox) -> VerifierOutput:
    try:
        with sandbox.read_tree(_VERIFIER_LOGS) as chunks:
            return read_verifier_output(chunks)
    except SandboxError:
        context.provider.check()
        return NO_VERIFIER_OUTPUT
