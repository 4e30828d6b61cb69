"""The outcome of an agent's work: how it ended, and its change to the workspace.

An agent's own account of why it stopped is not reliable: aider ends with exit code 0 if its key is
refused, and other agents print an error and hang. The model endpoint counts each request and each
answer.
"""

import dataclasses
import difflib
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from traceback import TracebackException

from pydantic import TypeAdapter

from agentbench.agents.interface import AgentOutcome
from agentbench.attempt.agent_work.agent_sandbox import BoundedSandbox
from agentbench.attempt.context import PreparedContext
from agentbench.attempt.sandboxes import is_judged_in_place
from agentbench.core.display_text import Redactor, counted
from agentbench.core.files import FileContent
from agentbench.errors import GitCloneError, SandboxError
from agentbench.integrity.extraction import ExtractionLimits, WorkspaceChange, read_change
from agentbench.integrity.protection import JudgedChange, ProtectionRules, protect
from agentbench.integrity.suspicious_code import suspicious_code
from agentbench.integrity.tool_caches import ToolCache, separate_caches
from agentbench.integrity.trees import BaseContent
from agentbench.models.interface import AGENTS_OWN_ERRORS, ModelTraffic, ModelUsage
from agentbench.sandbox.interface import Command, LastingSandbox, Sandbox
from agentbench.scoring.classification import exception_fact
from agentbench.scoring.evidence import AgentEnding, Evidence, ExceptionFact, Finding
from agentbench.scoring.node_ids import files_of
from agentbench.tasks.mirror import tracked_files
from agentbench.taxonomy import FailureReason, Fault, StageName

_GRACE = timedelta(seconds=10)  # for a fresh sandbox to answer
_DIFFABLE_BYTES = 512 * 1024  # difflib's time grows with the square of a text's length
_DIFFABLE_LINES = 20_000
_DETAIL = 4_096  # characters
_OUTCOME = TypeAdapter(AgentOutcome)
_COUNTS = ("steps", "tool_calls", "tool_errors_recovered", "test_runs")
_USAGE_COUNTS = ("requests", "input_tokens", "output_tokens", "cached_tokens")
_LONGEST_TRACEBACK = 20_000  # characters of a traceback, from its end
# The protocol of agents lets them raise these; other exceptions do not choose their reason.
_AGENT_REASONS = frozenset(
    {FailureReason.LLM_ERROR, FailureReason.TOOL_ERROR, FailureReason.INTERRUPTED}
)
# Endings that a model without an answer may have caused.
_EXPLAINED = frozenset(
    {
        AgentEnding.SUBMITTED,
        AgentEnding.TIME_LIMIT,
        AgentEnding.LLM_ERROR,
        AgentEnding.TOOL_ERROR,
        AgentEnding.CRASHED,
    }
)


def extract_change(context: PreparedContext, sandbox: Sandbox) -> WorkspaceChange:
    """Read the change from the ended sandbox; a workspace that is gone is the agent's fault."""
    prepared, limits = context.prepared, context.limits
    # Twice the disk limit, plus the names of as many files as are allowed.
    stream_bytes = (2 * limits.disk_mib << 20) + 2048 * limits.files
    bounds = ExtractionLimits(stream_bytes=stream_bytes)
    with (
        blamed_on_agent(context),
        _ended(context, sandbox),
        sandbox.read_tree(sandbox.workspace) as chunks,
    ):
        return read_change(chunks, prepared.base, prepared.content, bounds)


@contextmanager
def blamed_on_agent(context: PreparedContext) -> Iterator[None]:
    """Blame the agent for the loss of its sandbox, unless the back end has failed, too."""
    try:
        yield
    except SandboxError as error:
        if _back_end_works(context):
            raise error.blamed_on(Fault.AGENT) from error
        raise


# Stop the processes of the sandbox; they continue afterwards if it is still needed.
@contextmanager
def _ended(context: PreparedContext, sandbox: Sandbox) -> Iterator[None]:
    is_needed = is_judged_in_place(context.task) or context.task.steps
    if is_needed and isinstance(sandbox, LastingSandbox):
        with sandbox.frozen():
            yield
    else:
        sandbox.kill()
        yield


# Whether the back end still works, so that the infrastructure is not to blame.
def _back_end_works(context: PreparedContext) -> bool:
    try:
        with context.provider.open(
            context.prepared.snapshot, limits=context.limits, network=False
        ) as fresh:
            return fresh.run(Command(argv=("true",), timeout=_GRACE)).ok
    except SandboxError:
        return False


def suspicious_findings(context: PreparedContext, change: JudgedChange | None) -> Iterator[Finding]:
    """Code that cheats need. The findings only inform: honest code may need it, too."""
    for path, file in change.files.items() if change is not None else ():
        if file is not None:
            before = context.prepared.content(path)
            yield from suspicious_code(path.as_posix(), before, file.content)


def judged_change(context: PreparedContext, change: WorkspaceChange) -> JudgedChange:
    """The judged part of a change; saves it as a patch, and all of it if parts were dropped."""
    prepared, task = context.prepared, context.task
    to_fix, to_keep = task.answer_key.fail_to_pass, task.answer_key.pass_to_pass
    kept = () if to_keep == "baseline" else files_of(to_keep)
    # A doctest that has to stay passing is in the source, which the agent may have to change.
    kept_tests = (file for file in kept if context.runner.is_test_file(PurePosixPath(file)))
    is_script = task.answer_key.verifier is not None
    protection = ProtectionRules(
        test_paths=(*task.problem.test_paths, *files_of(to_fix), *kept_tests),
        patterns=task.answer_key.protected,
        hidden=frozenset(context.hidden_tests.files),
        runner=None if is_script else context.runner,
    )
    work, caches = change, tuple[ToolCache, ...]()
    if not is_script:  # a script may test any of these files
        separated = separate_caches(change.files, prepared.base, lambda: _tracked(context))
        work, caches = replace(change, files=separated.files), separated.caches
    judged = protect(work, protection, prepared.base, prepared.content)
    judged = replace(judged, tool_caches=caches)
    context.save("patch.diff", render_patch(judged.files, prepared.content))
    if judged.dropped or caches:
        context.save("patch.raw.diff", render_patch(change.files, prepared.content))
    return judged


# The files that git tracks; all files of the base if git cannot list them.
def _tracked(context: PreparedContext) -> AbstractSet[PurePosixPath]:
    try:
        if context.task.source.workdir is None:
            return tracked_files(context.mirrors.of(context.task.source))
    except GitCloneError:
        pass
    return context.prepared.base.keys()


def render_patch(
    files: Mapping[PurePosixPath, FileContent | None], base_content: BaseContent
) -> bytes:
    """The diff of a change against the base; large and binary files are only named."""
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
    whole = (
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
        for line in lines
    )
    return b"".join([*head, *whole])


def _diffable(content: bytes | None) -> bool:
    if content is None:
        return True
    is_small = len(content) <= _DIFFABLE_BYTES and content.count(b"\n") <= _DIFFABLE_LINES
    return is_small and b"\0" not in content


def _lines(content: bytes | None) -> list[bytes]:
    return io.BytesIO(content or b"").readlines()


def checked_outcome(result: object) -> AgentOutcome:
    """The outcome, with the types of all fields checked and its detail shortened."""
    if not isinstance(result, AgentOutcome):
        raise TypeError(f"solve() must return an AgentOutcome, found {type(result).__name__}")
    values = _values(result)
    detail, usage = values["detail"], values["usage"]
    if isinstance(detail, str):
        values["detail"] = detail[:_DETAIL].encode("utf-8", "replace").decode()
    if isinstance(usage, ModelUsage):
        values["usage"] = _values(usage)
    outcome = _OUTCOME.validate_python(values)
    counted = outcome.steps, outcome.tool_calls, outcome.tool_errors_recovered, outcome.test_runs
    used = dataclasses.astuple(outcome.usage) if outcome.usage is not None else ()
    amounts = [amount for amount in (*counted, *used) if amount is not None]
    if not all(math.isfinite(amount) and amount >= 0 for amount in amounts):
        raise ValueError("solve() returned an amount that is negative or not a number")
    return outcome


def _values(outcome: AgentOutcome | ModelUsage) -> dict[str, object]:
    return {each.name: getattr(outcome, each.name) for each in dataclasses.fields(outcome)}


def combined_outcome(outcomes: Sequence[AgentOutcome], work: Evidence) -> AgentOutcome | None:
    """The outcome of all steps of a task; their evidence says how they ended."""
    if not outcomes:
        return None
    counts = {name: sum(getattr(each, name) for each in outcomes) for name in _COUNTS}
    usages = [each.usage for each in outcomes if each.usage is not None]
    used = {name: sum(getattr(each, name) for each in usages) for name in _USAGE_COUNTS}
    costs = [each.cost_usd for each in usages if each.cost_usd is not None]
    cost = sum(costs) if costs and len(costs) == len(usages) else None
    return dataclasses.replace(
        outcomes[-1],
        ending=work.agent or outcomes[-1].ending,
        detail=work.agent_detail,
        usage=ModelUsage(**used, cost_usd=cost) if usages else None,
        **counts,
    )


_OUR_SOURCE = str(Path(__file__).parents[2])  # the folder of agentbench


def agent_error(error: BaseException, sandbox: BoundedSandbox, redactor: Redactor) -> ExceptionFact:
    """The fact, with every text free of secrets.

    A `SandboxError` while the sandbox works is a misuse of it, and the agent's fault.
    """
    fact = exception_fact(StageName.AGENT_RUN, error)
    reason, fault = fact.reason, fact.fault
    is_unresponsive = reason is FailureReason.SANDBOX_ERROR and sandbox.is_unresponsive()
    if not is_unresponsive and reason is not FailureReason.LLM_ERROR:
        fault = Fault.AGENT
    if not is_unresponsive and reason not in _AGENT_REASONS:
        reason = FailureReason.UNKNOWN
    trace = TracebackException.from_exception(error)

    def redact(text: str) -> str:
        return redactor.text(text.encode("utf-8", "replace").decode())

    # The last line of the agent's own code: it may have called our code wrongly.
    frames = [frame for frame in trace.stack if not frame.filename.startswith(_OUR_SOURCE)]
    # The traceback begins where the agent's own code does.
    while len(trace.stack) > 1 and trace.stack[0].filename.startswith(_OUR_SOURCE):
        del trace.stack[0]
    return fact.replace(
        message=redact(fact.message),
        reason=reason,
        fault=fault,
        where=redact(
            f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
        ),
        traceback=redact("".join(trace.format()))[-_LONGEST_TRACEBACK:],
    )


def with_model(evidence: Evidence, facts: ModelTraffic) -> Evidence:
    """The evidence of an agent's stage, with the counts of its model endpoint.

    A spent budget counts as a cost limit, and an unanswered last request as an error of the model,
    regardless of what the agent reports. A more specific ending, such as a step limit, is kept.
    """
    ended: dict[str, object] = {}
    if _may_be_explained(evidence):
        failure = facts.last_failure
        if facts.over_budget:
            cost, requests = facts.usage.cost_usd, counted(facts.usage.requests, "model request")
            amount = "" if cost is None else f" of ${cost:.4f}"
            ended = {
                "agent": AgentEnding.COST_LIMIT,
                "agent_detail": f"the budget was spent: {requests}{amount}",
            }
        elif failure is not None:
            is_own = failure.kind in AGENTS_OWN_ERRORS
            agent_message = (
                evidence.exception.message if evidence.exception else evidence.agent_detail
            )
            own = f"; {agent_message}" if agent_message else ""
            status = f"HTTP {failure.status}" if failure.status is not None else "no answer"
            message = f": {failure.message}" if failure.message else ""
            kinds = ", ".join(f"{kind} x{count}" for kind, count in sorted(facts.errors.items()))
            total = f"{counted(facts.usage.requests, 'request')} in all"
            attempts = "; ".join(filter(None, (kinds, total)))
            ended = {
                "agent": AgentEnding.LLM_ERROR,
                "agent_detail": (
                    f"the model did not answer: {failure.kind}, {status}{message} ({attempts}){own}"
                ),
                "agent_fault": Fault.AGENT if is_own else Fault.INFRASTRUCTURE,
            }
    if ended:
        ended["exception"] = None
    findings = (*evidence.findings, *facts.findings)
    return evidence.replace(**ended, findings=findings)


def _may_be_explained(evidence: Evidence) -> bool:
    if evidence.exception is not None:
        explained = {FailureReason.UNKNOWN, FailureReason.LLM_ERROR, FailureReason.TOOL_ERROR}
        return evidence.exception.reason in explained
    return evidence.agent in _EXPLAINED
