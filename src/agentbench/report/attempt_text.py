"""One attempt as text: stages, the reason and its candidates, steps, tests, patch."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from agentbench.attempt.record import AttemptRecord, PatchRecord, StageRecord
from agentbench.core.display_text import counted, list_with_more, one_line, printable
from agentbench.models.atif import Step, Trajectory
from agentbench.models.conversation import Role
from agentbench.report.attempt_rows import verdict_word
from agentbench.scoring.evidence import CaseOutcome

_MAX_LISTED = 40  # entries of one list
_PATCH_LINES = 200
_TRACEBACK_LINES = 40


def render_attempt(record: AttemptRecord, folder: Path) -> str:
    """The page of an attempt; `folder` holds its patch and logs."""
    return "\n".join(_sections(record, folder)) + "\n"


def _sections(record: AttemptRecord, folder: Path) -> Iterator[str]:
    yield f"{record.task_id}, attempt {record.attempt} of {printable(record.agent)}"
    yield f"{verdict_word(record)}{_reason_text(record)}"
    yield printable(_environment_line(record))
    yield ""
    yield from _stages(record)
    yield from _candidates(record)
    for stage in record.stages:
        fact = stage.evidence.exception
        if fact is not None and fact.traceback:
            yield f"traceback of {stage.name}"
            lines = fact.traceback.splitlines()[-_TRACEBACK_LINES:]
            yield from (f"  {printable(line, limit=300, newlines=True)}" for line in lines)
            yield ""
    yield from _agent(record)
    yield from _model(record)
    yield from transcript(folder)
    yield from _tests(record)
    yield from _controls(record)
    for finding in record.findings:
        where = printable(finding.where)
        what = printable(finding.what)
        yield f"finding ({finding.severity.value}) {finding.rule} at {where}: {what}"
    for warning in record.warnings:
        yield f"warning: {printable(warning)}"
    if record.findings or record.warnings:
        yield ""
    yield from _patch(record, folder)
    yield f"files: {folder}"


def _reason_text(record: AttemptRecord) -> str:
    if record.failure_reason is None:
        return ""
    reason = record.failure_reason
    if not record.detail:
        return f": {reason} (fault: {record.fault}): {reason.description}"
    return f": {reason} (fault: {record.fault}): {printable(record.detail)}"


def _environment_line(record: AttemptRecord) -> str:
    environment = record.environment
    python = f"Python {environment.python or 'unknown'}"
    image = f" of {environment.image_name}" if environment.image_name else ""
    return f"ran with {python}{image}, sandbox {environment.sandbox}"


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
    yield ""


def _ending_text(stage: StageRecord) -> str:
    if stage.evidence.exception is not None:
        said = stage.evidence.exception
        return printable(f"{said.type_name}: {said.message}", limit=200)
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
        detail = printable(failure.detail, limit=200)
        number = f"{failure.reason.precedence:>2}" if failure.terminal else " -"
        note = "" if failure.terminal else " (a consequence, not a candidate)"
        yield f"  {number} {failure.reason} in {failure.stage}: {detail}{note}"
    yield ""


def _agent(record: AttemptRecord) -> Iterator[str]:
    agent = record.agent_run
    if agent is None:
        return
    detail = f": {printable(agent.detail, limit=400)}" if agent.detail else ""
    yield f"agent: {agent.ending.value}, {agent.steps} steps, {agent.tool_calls} tool calls{detail}"
    yield ""


def _model(record: AttemptRecord) -> Iterator[str]:
    usage = record.usage
    if usage is None:
        return
    cost = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    yield (
        f"model: {printable(record.model or 'unnamed')}, {usage.requests} requests, "
        f"{usage.input_tokens} tokens in ({usage.cached_tokens} cached), "
        f"{usage.output_tokens} out, {cost}"
    )
    for kind, count in sorted(usage.llm_errors.items()):
        yield f"  not answered: {printable(kind)} x{count}"
    yield ""


def _tests(record: AttemptRecord) -> Iterator[str]:
    if record.expected.reward_above is not None:
        yield f"rewards of the task's own script (resolved: above {record.expected.reward_above:g})"
        for name, value in (record.rewards or {}).items():
            yield f"  {printable(name)}: {value:g}"
        if not record.rewards:
            yield "  none"
        yield ""
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
    yield ""


def _controls(record: AttemptRecord) -> Iterator[str]:
    controls = record.controls
    if controls is None:
        return
    if controls.skipped is not None:
        yield f"control runs ({controls.level.value}): none, {printable(controls.skipped)}"
    else:
        yield f"control runs ({controls.level.value}), seed {controls.seed}"
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
    yield ""


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
    yield f"patch: {patch.files} files, +{patch.insertions} -{patch.deletions}"
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
    yield ""


_TRAJECTORY_FILE = Path("agent", "trajectory.json")
_MAX_STEPS = 60  # shown; half of them from the end
_MAX_CHARACTERS = 300  # characters of one text
_TRAJECTORY_BYTES = 50 * 1024 * 1024  # bytes


def transcript(folder: Path) -> Iterator[str]:
    """The steps of an attempt's trajectory, if it has one."""
    path = folder / _TRAJECTORY_FILE
    if not path.is_file():
        return
    try:
        told = _read_trajectory(path)
    except (OSError, ValueError, ValidationError) as error:
        yield f"transcript: {path} cannot be read: {printable(str(error), limit=200)}"
        return
    yield f"transcript: {len(told.steps)} steps, whole in {path}"
    shown = _shown_steps(told.steps)
    for position, step in enumerate(shown):
        left_out = step.step_id - (shown[position - 1].step_id if position else 0) - 1
        if left_out:
            yield f"  … {left_out} more steps"
        message = _one_line(step.message)
        yield f"  {step.step_id:>3} {step.source:<6} {message}{_spent(step)}".rstrip()
        for call in step.tool_calls or ():
            arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
            yield f"      call   {_one_line(f'{call.function_name}({arguments})')}"
        for result in step.observation.results if step.observation else ():
            yield f"      result {_one_line(result.content)}"
    yield ""


def _read_trajectory(path: Path) -> Trajectory:
    if path.stat().st_size > _TRAJECTORY_BYTES:
        raise ValueError(f"it is larger than {_TRAJECTORY_BYTES} bytes")
    return Trajectory.model_validate_json(path.read_bytes())


def _shown_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    if len(steps) <= _MAX_STEPS:
        return steps
    return steps[: _MAX_STEPS // 2] + steps[-_MAX_STEPS // 2 :]


def _spent(step: Step) -> str:
    metrics = step.metrics
    if step.source is not Role.AGENT or metrics is None:
        return ""
    return f" [{metrics.prompt_tokens} in, {metrics.completion_tokens} out]"


def _one_line(text: str) -> str:
    return one_line(text[: 4 * _MAX_CHARACTERS], limit=_MAX_CHARACTERS)
