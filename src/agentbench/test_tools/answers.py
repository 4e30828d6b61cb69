"""Creates the answers of tools: small enough, and without paths of this machine."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import cut_middle
from agentbench.scoring.evidence import CaseOutcome, PytestOutcome
from agentbench.test_runs.model import PytestResult
from agentbench.test_runs.runner import TestRun
from agentbench.test_tools import envelope
from agentbench.test_tools.envelope import PathMask

SIZE_LIMIT = 64 * 1024  # the most bytes of a compact answer in a message
_PROTOCOL_BYTES = 1024  # bytes of the protocol around an answer
_ID_REDUCTION = 0.5  # of the node ids, if all are too many
_MAX_ARGUMENT_LENGTH = 4096  # characters of one argument
_TEXT_STEPS = (32_768, 16_384, 8_192, 4_096, 2_048, 1_024)
_TRACEBACK_STEPS = (8_192, 4_096, 2_048, 1_024, 512)
_LEAST_OF_A_TEST = 80  # bytes, the minimum of a test without a message
_QUIET = (CaseOutcome.SKIPPED, CaseOutcome.XFAILED, CaseOutcome.XPASSED)
FitsLimit = Callable[[PytestResult], bool]
"""Decides whether the answer for a result is small enough."""


def answer_to_run(run: TestRun, mask: PathMask, *, timeout_s: float, full: bool) -> JsonObject:
    """The answer of `execute_tests`."""

    def rendered(result: PytestResult) -> JsonObject:
        return _rendered(_envelope(run, result, timeout_s), mask)

    if full:
        return rendered(run.result)
    return rendered(fit_to_limit(run.result, SIZE_LIMIT, lambda form: _fits(rendered(form))))


def answer_to_discovery(run: TestRun, mask: PathMask, *, timeout_s: float) -> JsonObject:
    """The answer of `discover_tests`: as many ids as fit, and errors of files."""
    node_ids = run.node_ids
    found = run.result.outcome is PytestOutcome.PASSED
    result = run.result.replace(json_report={}, omitted=("json_report",))

    def rendered(form: PytestResult, count: int) -> JsonObject:
        answer = _envelope(run, form, timeout_s)
        left_out = len(node_ids) - count
        named = (f"{left_out} of {len(node_ids)} node_ids: narrow down by paths or keyword",)
        changes: JsonObject = {
            "node_ids": node_ids[:count],
            "omitted": (*form.omitted, *(named if left_out else ())),
        }
        if found:
            changes |= {"outcome": "discovered", "message": f"{len(node_ids)} tests"}
        return _rendered(answer.replace(**changes), mask)

    def answer_with(count: int) -> JsonObject:
        form = fit_to_limit(result, SIZE_LIMIT, lambda form: _fits(rendered(form, count)))
        return rendered(form, count)

    count = len(node_ids)
    answer = answer_with(count)
    while count and not _fits(answer):
        count = int(count * _ID_REDUCTION)
        answer = answer_with(count)
    return answer


def answer_to_error(
    outcome: envelope.AnswerOutcome,
    message: str,
    *,
    faults: Sequence[str] = (),
    incident: str | None = None,
) -> JsonObject:
    """The answer for an error without a run: wrong arguments, a path, no pytest, a bug."""
    error_type, code = envelope.ERROR_OF_OUTCOME[outcome]
    data = envelope.ErrorDetails(error_type=outcome, faults=tuple(faults), incident=incident)
    return envelope.PytestAnswer(
        status="error",
        outcome=outcome,
        error_type=error_type,
        message=message,
        error=envelope.ErrorObject(code=code, message=message, data=data),
    ).model_dump(mode="json")


def invalid_arguments(faults: Sequence[str]) -> JsonObject:
    """The answer for invalid arguments, with all faults."""
    message = f"invalid arguments: {'; '.join(faults)}"
    return answer_to_error("invalid_arguments", message, faults=faults)


def no_pytest(details: str, mask: PathMask) -> JsonObject:
    """The answer if pytest, or a sandbox to run it in, is missing."""
    return answer_to_error("spawn", mask.text(envelope.spawn_message(details)))


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


def _rendered(answer: envelope.PytestAnswer, mask: PathMask) -> JsonObject:
    report = mask.value(answer.json_report)
    plain = answer.model_dump(mode="json", exclude={"json_report", "node_ids"})
    masked = {name: mask.value(value) for name, value in plain.items()}
    return masked | {"json_report": report, "node_ids": list(answer.node_ids)}


def _envelope(run: TestRun, result: PytestResult, timeout_s: float) -> envelope.PytestAnswer:
    message = envelope.message_of(run, timeout_s)
    fields: JsonObject = {name: getattr(result, name) for name in envelope.SERIALIZED_FIELDS}
    fields |= {"outcome": result.outcome.value, "message": message, "status": "success"}
    if result.outcome in envelope.ERROR_OF_OUTCOME:
        error_type, code = envelope.ERROR_OF_OUTCOME[result.outcome]
        limit, command = len(result.text_output), run.command
        details = envelope.ErrorDetails(
            error_type=run.result.outcome.value,
            exit_code=command.exit_code,
            signal=envelope.signal_name(command),
            stdout=cut_middle(command.stdout, limit),
            stderr=cut_middle(command.stderr, limit),
            command=tuple(cut_middle(word, _MAX_ARGUMENT_LENGTH) for word in command.argv[:50]),
            duration=command.duration.total_seconds(),
        )
        error = envelope.ErrorObject(code=code, message=message, data=details)
        fields |= {"status": "error", "error_type": error_type, "error": error}
    # They were checked when the result was made; 100,000 tests are not checked again.
    return envelope.PytestAnswer.model_construct(**fields)  # type: ignore[arg-type]


def fit_to_limit(result: PytestResult, limit: int, fits: FitsLimit) -> PytestResult:
    """The first of ever smaller versions of a result that fits; else the smallest.

    Args:
        result: The whole result.
        limit: Bytes; versions that exceed it by a rough count are skipped.
        fits: Decides on other versions.
    """
    form = result
    for form in _smaller_results(result):
        reported = form.json_report.get("tests")
        # A lower bound is quick; to write a result of 100,000 tests only to measure it is not.
        least = (
            len(form.text_output)
            + _LEAST_OF_A_TEST * len(form.tests)
            + sum(len(case.traceback or "") for case in form.tests)
            + _LEAST_OF_A_TEST * (len(reported) if isinstance(reported, list) else 0)
        )
        if least <= limit and fits(form):
            break
    return form


def _smaller_results(result: PytestResult) -> Iterator[PytestResult]:
    yield result
    if result.json_report:
        result = _reduced(result, "json_report", json_report={})
        yield result
    result = _without(result, (CaseOutcome.PASSED,), "passed")
    yield result
    short = result
    for limit in _TEXT_STEPS:
        if len(result.text_output) > limit:
            text = cut_middle(result.text_output, limit)
            short = _reduced(result, "the middle of text_output", text_output=text)
            yield short
    result = _without(short, _QUIET, "skipped, xfailed and xpassed")
    yield result

    # Only failures are left: first with shortened tracebacks, then fewer of them.
    short = result
    for limit in _TRACEBACK_STEPS:

        def cut(text: str | None, limit: int = limit) -> str | None:
            return None if text is None else cut_middle(text, limit)

        short = _reduced(
            result,
            "the middle of long messages and tracebacks",
            tests=tuple(
                replace(case, message=cut(case.message), traceback=cut(case.traceback))
                for case in result.tests
            ),
            collection_errors=tuple(
                error.replace(message=cut(error.message), traceback=cut(error.traceback))
                for error in result.collection_errors
            ),
            detail=cut(result.detail),
        )
        yield short
    tests, errors = short.tests, short.collection_errors
    while len(tests) > 1 or len(errors) > 1:
        tests = tests[: max(1, len(tests) // 2)]
        errors = errors[: max(1, len(errors) // 2)]
        less = _omitted(short.tests, tests, "other tests")
        less += _omitted(short.collection_errors, errors, "collection errors")
        yield _reduced(short, *less, tests=tests, collection_errors=errors)


def _without(result: PytestResult, outcomes: Sequence[CaseOutcome], words: str) -> PytestResult:
    remaining = tuple(case for case in result.tests if case.outcome not in outcomes)
    gone = len(result.tests) - len(remaining)
    return _reduced(result, f"{gone} {words} tests", tests=remaining) if gone else result


def _reduced(result: PytestResult, *what: str, **smaller: object) -> PytestResult:
    return result.replace(**smaller, omitted=(*result.omitted, *what))


def _omitted(before: Sequence[object], after: Sequence[object], words: str) -> list[str]:
    gone = len(before) - len(after)
    return [f"{gone} of {len(before)} {words}"] if gone else []
