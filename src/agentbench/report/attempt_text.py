"""Everything about an attempt as text."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from agentbench.attempt.record import AttemptRecord, UsageRecord
from agentbench.core.display_text import counted, list_with_more, one_line, printable
from agentbench.integrity.records import ControlKind
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


def render_attempt(record: AttemptRecord, folder: Path, work: Iterable[str] = ()) -> str:
    """The page of an attempt, its cause first.

    Args:
        record: The attempt.
        folder: The folder with its patch and logs.
        work: Lines about the agent's work.
    """
    cause = find_cause(record, files_in(folder))
    sections = (
        _head(record),
        # The reason and its detail end one step before the cause, so the cause comes before them.
        cause_text(cause) if cause is not None else (),
        work,
        _stages(record),
        *_agent_and_model(record),
        _steps(record),
        _tests(record),
        *_findings_and_candidates(record),
        _patch(record, folder),
        _controls(record),
        _tracebacks(record),
        transcript(folder),
        [f"files: {folder}"],
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
    # The image of a script that judges needs no Python.
    python = f"Python {environment.python}{image}" if environment.python else image[4:]
    ran_with = f"ran with {python}, " if python else ""
    yield printable(f"{ran_with}sandbox {environment.sandbox}")


def _tracebacks(record: AttemptRecord) -> Iterator[str]:
    for stage in record.stages:
        fact = stage.evidence.exception
        if fact is not None and fact.traceback:
            yield f"traceback of {stage.name}"
            lines = fact.traceback.splitlines()[-_TRACEBACK_LINES:]
            yield from (f"  {printable(line, limit=300, newlines=True)}" for line in lines)


def _stages(record: AttemptRecord) -> Iterator[str]:
    yield "stages"
    for stage in record.stages:
        fact = stage.evidence.exception
        if fact is not None:
            ending = one_line(fact.text, limit=200)
        elif stage.ending is None:
            agent = stage.evidence.agent
            ending = agent.value if agent is not None else "nothing to do"
        else:
            code = f" {stage.exit_code}" if stage.exit_code is not None else ""
            code = f" by signal {stage.signal}" if stage.signal is not None else code
            ending = f"{stage.ending.value}{code}{' (cached)' if stage.cached else ''}"
        yield f"  {stage.name:<13} {stage.duration_s:7.2f} s  {ending}"
    yield (
        f"  total {record.timing.total_s:.2f} s, of which agent {record.timing.agent_s:.2f}, "
        f"tests {record.timing.tests_s:.2f}, set-up {record.timing.setup_s:.2f}, "
        f"waiting for controls {record.timing.controls_s:.2f}, "
        f"harness {record.timing.overhead_s:.2f}"
    )


def _agent_and_model(record: AttemptRecord) -> tuple[list[str], list[str]]:
    agent, usage = record.agent_run, record.usage
    agent_lines, model_lines = [], []
    if agent is not None:
        detail = f": {printable(agent.detail, limit=400)}" if agent.detail else ""
        work = f"{counted(agent.steps, 'step')}, {counted(agent.tool_calls, 'tool call')}"
        agent_lines.append(f"agent: {agent.ending.value}, {work}{detail}")
    if usage is not None:
        cost = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
        model = printable(record.model or "unnamed")
        model_lines.append(f"model: {model}, {usage_text(usage)}, {cost}")
        model_lines += [
            f"  not answered: {printable(kind)} x{count}"
            for kind, count in sorted(usage.llm_errors.items())
        ]
    return agent_lines, model_lines


def usage_text(usage: UsageRecord) -> str:
    """The requests and tokens of an attempt."""
    return (
        f"{counted(usage.requests, 'request')}, {usage.input_tokens} tokens in "
        f"({usage.cached_tokens} cached), {usage.output_tokens} out"
    )


def _steps(record: AttemptRecord) -> Iterator[str]:
    if record.steps:
        yield "steps"
    for step in record.steps:
        name = printable(step.name)
        if not step.ran:
            yield f"  {name}: not run"
            continue
        rewards = step.rewards or {}
        reward = ", ".join(f"{printable(n)} {value:g}" for n, value in rewards.items())
        parts = [reward or f"no reward: {printable(step.fault)}"]
        if step.shortfall:
            parts.append(f"too low for the next step: {printable(step.shortfall)}")
        if step.agent not in {None, AgentEnding.SUBMITTED}:
            detail = f" ({printable(step.agent_detail)})" if step.agent_detail else ""
            parts.append(f"agent: {step.agent}{detail}")
        times = f"agent {step.agent_s:.1f} s, verifier {step.verifier_s:.1f} s"
        yield f"  {name}: {'; '.join(parts)}; {times}"


def _findings_and_candidates(record: AttemptRecord) -> tuple[list[str], list[str]]:
    findings = []
    for finding in record.findings:
        where, what = printable(finding.where), printable(finding.what)
        findings.append(f"finding ({finding.severity.value}) {finding.rule} at {where}: {what}")
    findings += [f"warning: {printable(warning)}" for warning in record.warnings]
    candidates = ["Failure candidates, highest priority first"] if record.failures else []
    for failure in sorted(record.failures, key=lambda f: (not f.terminal, f.reason.precedence)):
        detail = printable(failure.detail)
        number = f"{failure.reason.precedence:>2}" if failure.terminal else " -"
        # What the final test shows of a crashed agent's work explains nothing.
        note = "" if failure.terminal else " (a consequence, not a candidate)"
        candidates.append(f"  {number} {failure.reason} in {failure.stage}: {detail}{note}")
    return findings, candidates


def _tests(record: AttemptRecord) -> Iterator[str]:
    if record.expected.reward_above is not None:
        yield f"rewards of the task's own script (resolved: above {record.expected.reward_above:g})"
        for name, value in (record.rewards or {}).items():
            yield f"  {printable(name)}: {value:g}"
        if not record.rewards:
            yield "  none"
        if not record.tests:
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
        sealed = controls.sealed
        compared = f"{counted(sealed.values, 'value')} of {counted(sealed.tests, 'test')} compared"
        differing = len(sealed.mismatches)
        result = f"{counted(differing, 'assertion')} differ" if differing else "all as expected"
        again = f", repeated {counted(sealed.tries - 1, 'time')}" if sealed.tries > 1 else ""
        sample = f"; also {counted(sealed.regressions, 'pass-to-pass test')} in other files"
        yield f"  sealed run: {compared}, {result}{again}{sample if sealed.regressions else ''}"
        for one in sealed.mismatches[:_MAX_LISTED]:
            found = f"expected {one.expected}, found {one.actual}"
            yield f"    {printable(one.node_id)}: {printable(found)}"
    kinds = Counter(test.control for test in controls.tests)
    if kinds:
        shares = controls_text([(kind, kinds[kind]) for kind in ControlKind])
        yield f"  {TESTS_TO_FIX}: {shares}"
    for run in controls.runs:
        wrong = [test for test in run.tests if test.must == "fail"]
        right = [test for test in run.tests if test.must == "pass"]
        retries = f", repeated {counted(run.tries - 1, 'time')}" if run.tries > 1 else ""
        yield (
            f"  run {run.half}: {sum(t.as_expected for t in wrong)} of {len(wrong)} changed tests "
            f"failed, {sum(t.as_expected for t in right)} of {len(right)} others passed{retries}"
        )
    for weak in controls.weakly_controlled[:_MAX_LISTED]:
        where = printable(f"{weak.file}::{weak.function}")
        yield f"  weakly controlled: {where}: {printable(weak.reason)}"


def _patch(record: AttemptRecord, folder: Path) -> Iterator[str]:
    patch = record.patch
    if patch is None:
        return
    yield f"patch: {counted(patch.files, 'file')}, +{patch.insertions} -{patch.deletions}"
    for dropped in patch.dropped:
        yield f"  not judged: {printable(dropped.path)}: {printable(dropped.why)}"
    # Caches of pytest, mypy and the like are no work of the agent, and would hide its changes.
    if caches := patch.tool_caches:
        files, size = sum(each.files for each in caches), sum(each.size for each in caches)
        names = list_with_more([printable(each.path) for each in caches], _MAX_LISTED)
        count = counted(files, "file")
        yield f"  tool caches, not counted: {count}, {size / 1024:.1f} KiB: {names}"
    path = folder / patch.path
    if not path.is_file():
        return
    lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    yield from (f"  {printable(line, limit=300, newlines=True)}" for line in lines[:_PATCH_LINES])
    if len(lines) > _PATCH_LINES:
        yield f"  … {len(lines) - _PATCH_LINES} more lines in {path}"
