"""Everything about an attempt as text."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from agentbench.attempt.record import (
    AttemptRecord,
    PatchRecord,
    StageRecord,
    TaskStepRecord,
    UsageRecord,
)
from agentbench.core.display_text import counted, list_with_more, printable
from agentbench.integrity.records import ControlKind, SealedRun
from agentbench.report.attempt_columns import verdict_word
from agentbench.report.attempt_files import files_in
from agentbench.report.cause_text import cause_text
from agentbench.report.failure_cause import find_cause
from agentbench.report.formatting import TESTS_TO_FIX, controls_text
from agentbench.report.summary import TAMPERED
from agentbench.report.transcript_text import transcript
from agentbench.scoring.evidence import AgentEnding, CaseOutcome

_MAX_LISTED = 40  # entries of one list
_PATCH_LINES = 200
_TRACEBACK_LINES = 40


def render_attempt(record: AttemptRecord, folder: Path) -> str:
    """The page of an attempt, its cause first; `folder` holds its patch and logs."""
    sections = (
        _head(record),
        _why(record, folder),
        _stages(record),
        _agent(record),
        _model(record),
        _steps(record),
        _tests(record),
        _findings(record),
        _candidates(record),
        _patch(record, folder),
        _controls(record),
        _tracebacks(record),
        transcript(folder),
        iter([f"files: {folder}"]),
    )
    return "\n\n".join(filter(None, map("\n".join, sections))) + "\n"


def _head(record: AttemptRecord) -> Iterator[str]:
    yield f"{record.task_id}, attempt {record.attempt} of {printable(record.agent)}"
    reason = record.failure_reason
    why = "" if reason is None else f": {reason} (fault: {record.fault})"
    yield f"{verdict_word(record)}{why}"
    if tampered := [printable(path) for path in record.tampered_paths]:
        names = list_with_more(tampered, _MAX_LISTED)
        yield f"{TAMPERED}: {names} (changed by the agent, and not judged)"
    environment = record.environment
    image = f" of {environment.image_name}" if environment.image_name else ""
    python = f"Python {environment.python or 'unknown'}{image}"
    yield printable(f"ran with {python}, sandbox {environment.sandbox}")


def _why(record: AttemptRecord, folder: Path) -> Iterator[str]:
    cause = find_cause(record, files_in(folder))
    if cause is not None:
        yield from cause_text(cause)


def _tracebacks(record: AttemptRecord) -> Iterator[str]:
    for stage in record.stages:
        fact = stage.evidence.exception
        if fact is not None and fact.traceback:
            yield f"traceback of {stage.name}"
            lines = fact.traceback.splitlines()[-_TRACEBACK_LINES:]
            yield from (f"  {printable(line, limit=300, newlines=True)}" for line in lines)


def _findings(record: AttemptRecord) -> Iterator[str]:
    for finding in record.findings:
        where, what = printable(finding.where), printable(finding.what)
        yield f"finding ({finding.severity.value}) {finding.rule} at {where}: {what}"
    for warning in record.warnings:
        yield f"warning: {printable(warning)}"


def _stages(record: AttemptRecord) -> Iterator[str]:
    yield "stages"
    for stage in record.stages:
        yield f"  {stage.name:<13} {stage.duration_s:7.2f} s  {_ending_text(stage)}"
    yield (
        f"  total {record.timing.total_s:.2f} s, of which agent {record.timing.agent_s:.2f}, "
        f"tests {record.timing.tests_s:.2f}, set-up {record.timing.setup_s:.2f}, "
        f"waiting for controls {record.timing.controls_s:.2f}, "
        f"harness {record.timing.overhead_s:.2f}"
    )


def _ending_text(stage: StageRecord) -> str:
    if stage.evidence.exception is not None:
        exception = stage.evidence.exception
        named = ": ".join(filter(None, (exception.type_name, exception.message)))
        return printable(named, limit=200)
    if stage.ending is None:
        agent = stage.evidence.agent
        return agent.value if agent is not None else "nothing to do"
    code = f" {stage.exit_code}" if stage.exit_code is not None else ""
    code = f" by signal {stage.signal}" if stage.signal is not None else code
    return f"{stage.ending.value}{code}{' (cached)' if stage.cached else ''}"


def _candidates(record: AttemptRecord) -> Iterator[str]:
    if not record.failures:
        return
    yield "Failure candidates, highest priority first"
    for failure in sorted(record.failures, key=lambda f: (not f.terminal, f.reason.precedence)):
        detail = printable(failure.detail)
        number = f"{failure.reason.precedence:>2}" if failure.terminal else " -"
        note = "" if failure.terminal else " (a consequence, not a candidate)"
        yield f"  {number} {failure.reason} in {failure.stage}: {detail}{note}"


def _agent(record: AttemptRecord) -> Iterator[str]:
    agent = record.agent_run
    if agent is None:
        return
    detail = f": {printable(agent.detail, limit=400)}" if agent.detail else ""
    work = f"{counted(agent.steps, 'step')}, {counted(agent.tool_calls, 'tool call')}"
    yield f"agent: {agent.ending.value}, {work}{detail}"


def _model(record: AttemptRecord) -> Iterator[str]:
    usage = record.usage
    if usage is None:
        return
    cost = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    yield f"model: {printable(record.model or 'unnamed')}, {usage_text(usage)}, {cost}"
    for kind, count in sorted(usage.llm_errors.items()):
        yield f"  not answered: {printable(kind)} x{count}"


def usage_text(usage: UsageRecord) -> str:
    """The requests and tokens of an attempt."""
    return (
        f"{usage.requests} requests, {usage.input_tokens} tokens in "
        f"({usage.cached_tokens} cached), {usage.output_tokens} out"
    )


def _steps(record: AttemptRecord) -> Iterator[str]:
    if record.steps:
        yield "steps"
    for step in record.steps:
        yield f"  {printable(step.name)}: {_step_text(step)}"


def _step_text(step: TaskStepRecord) -> str:
    """The result of a task's step."""
    if not step.ran:
        return "not run"
    rewards = ", ".join(f"{printable(n)} {value:g}" for n, value in (step.rewards or {}).items())
    parts = [rewards or f"no reward: {printable(step.fault)}"]
    if step.shortfall:
        parts.append(f"too low for the next step: {printable(step.shortfall)}")
    if step.agent not in {None, AgentEnding.SUBMITTED}:
        detail = f" ({printable(step.agent_detail)})" if step.agent_detail else ""
        parts.append(f"agent: {step.agent}{detail}")
    return f"{'; '.join(parts)}; agent {step.agent_s:.1f} s, verifier {step.verifier_s:.1f} s"


def _tests(record: AttemptRecord) -> Iterator[str]:
    if record.expected.reward_above is not None:
        yield f"rewards of the task's own script (resolved: above {record.expected.reward_above:g})"
        for name, value in (record.rewards or {}).items():
            yield f"  {printable(name)}: {value:g}"
        if not record.rewards:
            yield "  none"
            return
    counts = record.counts
    yield (
        f"tests: {counts.fixed} fixed, {counts.still_failing} still failing, "
        f"{counts.regressed} regressed, {counts.unrun} not run"
    )
    telling = [
        test
        for test in record.tests
        if test.final is not CaseOutcome.PASSED or test.baseline is not CaseOutcome.PASSED
    ]
    for test in telling[:_MAX_LISTED]:
        before = test.baseline.value if test.baseline else "absent"
        after = test.final.value if test.final else "absent"
        yield f"  {printable(test.node_id)}: {before} -> {after}"
    if len(telling) > _MAX_LISTED:
        yield f"  … and {len(telling) - _MAX_LISTED} more"


def _controls(record: AttemptRecord) -> Iterator[str]:
    controls = record.controls
    if controls is None:
        return
    skipped = controls.skipped
    omitted = "" if controls.sealed is not None else " skipped"
    what = f", seed {controls.seed}" if skipped is None else f"{omitted}: {printable(skipped)}"
    yield f"control runs ({controls.level.value}){what}"
    if controls.sealed is not None:
        yield f"  sealed run: {_sealed_summary(controls.sealed)}"
        for one in controls.sealed.mismatches[:_MAX_LISTED]:
            found = f"expected {one.expected}, found {one.actual}"
            yield f"    {printable(one.node_id)}: {printable(found)}"
    kinds = Counter(test.control for test in controls.tests)
    if kinds:
        shares = controls_text([(kind, kinds[kind]) for kind in ControlKind])
        yield f"  {TESTS_TO_FIX}: {shares}"
    for run in controls.runs:
        wrong = [test for test in run.tests if test.must == "fail"]
        right = [test for test in run.tests if test.must == "pass"]
        again = run.tries - 1
        retries = f", repeated {counted(again, 'time')}" if again else ""
        yield (
            f"  run {run.half}: {sum(t.as_expected for t in wrong)} of {len(wrong)} changed tests "
            f"failed, {sum(t.as_expected for t in right)} of {len(right)} others passed{retries}"
        )
    for weak in controls.weakly_controlled[:_MAX_LISTED]:
        where = printable(f"{weak.file}::{weak.function}")
        yield f"  weakly controlled: {where}: {printable(weak.reason)}"


def _sealed_summary(sealed: SealedRun) -> str:
    compared = f"{counted(sealed.values, 'value')} of {counted(sealed.tests, 'test')} compared"
    differing = len(sealed.mismatches)
    result = f"{counted(differing, 'assertion')} differ" if differing else "all as expected"
    again = f", repeated {counted(sealed.tries - 1, 'time')}" if sealed.tries > 1 else ""
    sample = f"; also {counted(sealed.regressions, 'pass-to-pass test')} in other files"
    return f"{compared}, {result}{again}{sample if sealed.regressions else ''}"


def _tool_caches(patch: PatchRecord) -> Iterator[str]:
    caches = patch.tool_caches
    if not caches:
        return
    files, size = sum(each.files for each in caches), sum(each.size for each in caches)
    names = list_with_more([printable(each.path) for each in caches], _MAX_LISTED)
    count = counted(files, "file")
    yield f"  tool caches, not counted: {count}, {size / 1024:.1f} KiB: {names}"


def _patch(record: AttemptRecord, folder: Path) -> Iterator[str]:
    patch = record.patch
    if patch is None:
        return
    yield f"patch: {counted(patch.files, 'file')}, +{patch.insertions} -{patch.deletions}"
    for dropped in patch.dropped:
        yield f"  not judged: {printable(dropped.path)}: {printable(dropped.why)}"
    yield from _tool_caches(patch)
    path = folder / patch.path
    if not path.is_file():
        return
    lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    yield from (f"  {printable(line, limit=300, newlines=True)}" for line in lines[:_PATCH_LINES])
    if len(lines) > _PATCH_LINES:
        yield f"  … {len(lines) - _PATCH_LINES} more lines in {path}"
