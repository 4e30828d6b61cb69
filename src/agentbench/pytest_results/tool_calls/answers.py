"""Creates the answers of tools: small enough, and without paths of this machine."""

import json
from collections.abc import Sequence

from agentbench.core.schema import JsonObject
from agentbench.pytest_results.execution import DiscoveredTests, PytestRun
from agentbench.pytest_results.model import PytestResult
from agentbench.pytest_results.tool_calls.envelope import (
    ERROR_OF_OUTCOME,
    INVALID_PARAMS,
    SERIALIZED_FIELDS,
    SERVER_ERROR,
    AnswerOutcome,
    ErrorDetails,
    ErrorObject,
    PytestAnswer,
    PytestErrorType,
    message_of,
    signal_name,
    spawn_message,
)
from agentbench.pytest_results.tool_calls.path_masking import PathMask
from agentbench.pytest_results.tool_calls.size_limit import cut_middle, fit_to_limit
from agentbench.scoring.evidence import PytestOutcome

SIZE_LIMIT = 64 * 1024
"""The most bytes of a compact answer in a message."""

_PROTOCOL_BYTES = 1024  # bytes of the protocol around an answer
_ID_REDUCTION = 0.5  # of the node ids, if all are too many
_MAX_ARGUMENT_LENGTH = 4096  # characters of one argument


def answer_to_run(run: PytestRun, mask: PathMask, *, timeout_s: float, full: bool) -> JsonObject:
    """The answer of `execute_tests`."""

    def rendered(result: PytestResult) -> JsonObject:
        """The answer for one version of the result."""
        return _rendered(_envelope(run, result, timeout_s), mask)

    if full:
        return rendered(run.result)
    result = fit_to_limit(
        run.result, SIZE_LIMIT, lambda form: size_of(rendered(form)) <= SIZE_LIMIT
    )
    return rendered(result)


def answer_to_discovery(
    discovery: DiscoveredTests, mask: PathMask, *, timeout_s: float
) -> JsonObject:
    """The answer of `discover_tests`: as many ids as fit, and errors of files."""
    run, node_ids = discovery.run, discovery.node_ids
    found = run.result.outcome is PytestOutcome.PASSED
    result = run.result.model_copy(update={"json_report": {}, "omitted": ("json_report",)})

    def rendered(form: PytestResult, kept: int) -> JsonObject:
        """The answer for one version of the result."""
        envelope = _envelope(run, form, timeout_s)
        left_out = len(node_ids) - kept
        named = (f"{left_out} of {len(node_ids)} node_ids: narrow down by paths or keyword",)
        changes: JsonObject = {
            "node_ids": node_ids[:kept],
            "omitted": (*form.omitted, *(named if left_out else ())),
        }
        if found:
            changes |= {"outcome": "discovered", "message": f"{len(node_ids)} tests"}
        return _rendered(envelope.model_copy(update=changes), mask)

    def answer_with(kept: int) -> JsonObject:
        """The answer with some of the ids."""
        form = fit_to_limit(result, SIZE_LIMIT, lambda form: _fits(rendered(form, kept)))
        return rendered(form, kept)

    kept = len(node_ids)
    while True:
        answer = answer_with(kept)
        if _fits(answer) or not kept:
            return answer
        kept = int(kept * _ID_REDUCTION)


def answer_to_error(
    outcome: AnswerOutcome,
    error_type: PytestErrorType,
    message: str,
    *,
    code: int,
    faults: Sequence[str] = (),
    incident: str | None = None,
) -> JsonObject:
    """The answer for an error without a run: wrong arguments, a path, no pytest, a bug."""
    data = ErrorDetails(error_type=outcome, faults=tuple(faults), incident=incident)
    return PytestAnswer(
        status="error",
        outcome=outcome,
        error_type=error_type,
        message=message,
        error=ErrorObject(code=code, message=message, data=data),
    ).model_dump(mode="json")


def invalid_arguments(faults: Sequence[str]) -> JsonObject:
    """The answer for invalid arguments, with all faults."""
    message = f"invalid arguments: {'; '.join(faults)}"
    return answer_to_error(
        "invalid_arguments", PytestErrorType.VALUE, message, code=INVALID_PARAMS, faults=faults
    )


def path_outside_root(fault: str) -> JsonObject:
    """The answer for a path outside of the project; by ADR-009 a ValidationError."""
    return answer_to_error(
        "path_outside_root", PytestErrorType.VALIDATION, fault, code=INVALID_PARAMS, faults=(fault,)
    )


def no_pytest(details: str, mask: PathMask) -> JsonObject:
    """The answer without a pytest or without a sandbox to run it in."""
    message = mask.text(spawn_message(details))
    return answer_to_error("spawn", PytestErrorType.RUNTIME, message, code=SERVER_ERROR)


def size_of(answer: JsonObject) -> int:
    """The bytes of an answer in a message, which has it twice: as structure and as text."""
    text = as_text(answer)
    content = [{"type": "text", "text": text}]
    return len(json.dumps(content)) + len(json.dumps(answer)) + _PROTOCOL_BYTES


def as_text(answer: JsonObject) -> str:
    """An answer for clients that only read text."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def _fits(answer: JsonObject) -> bool:
    return size_of(answer) <= SIZE_LIMIT


def _rendered(envelope: PytestAnswer, mask: PathMask) -> JsonObject:
    report = mask.value(envelope.json_report)
    plain = envelope.model_dump(mode="json", exclude={"json_report", "node_ids"})
    masked = {name: mask.value(value) for name, value in plain.items()}
    return masked | {"json_report": report, "node_ids": list(envelope.node_ids)}


def _envelope(run: PytestRun, result: PytestResult, timeout_s: float) -> PytestAnswer:
    message = message_of(run, timeout_s)
    mishap = ERROR_OF_OUTCOME.get(result.outcome)
    told: JsonObject = {name: getattr(result, name) for name in SERIALIZED_FIELDS}
    told |= {"outcome": result.outcome.value, "message": message, "status": "success"}
    if mishap is not None:
        limit = len(result.text_output)
        command = run.command
        details = ErrorDetails(
            error_type=run.result.outcome.value,
            exit_code=command.exit_code,
            signal=signal_name(command),
            stdout=cut_middle(command.stdout, limit),
            stderr=cut_middle(command.stderr, limit),
            command=tuple(cut_middle(word, _MAX_ARGUMENT_LENGTH) for word in command.argv[:50]),
            duration=command.duration.total_seconds(),
        )
        told |= {
            "status": "error",
            "error_type": mishap.error_type,
            "error": ErrorObject(code=mishap.code, message=message, data=details),
        }
    return PytestAnswer.model_construct(**told)  # type: ignore[arg-type]  # checked when the result was made: 100,000 tests are not checked again
