"""Makes a result small enough to be sent by omitting its least informative parts first."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from agentbench.pytest_results.model import CaseResult, CollectionError, PytestResult
from agentbench.scoring.evidence import CaseOutcome

_TEXT_STEPS = (32_768, 16_384, 8_192, 4_096, 2_048, 1_024)
_TRACEBACK_STEPS = (8_192, 4_096, 2_048, 1_024, 512)
_LEAST_OF_A_TEST = 80  # bytes, the minimum of a test without a message
_QUIET = (CaseOutcome.SKIPPED, CaseOutcome.XFAILED, CaseOutcome.XPASSED)

_Item = TypeVar("_Item", CaseResult, CollectionError)

FitsLimit = Callable[[PytestResult], bool]
"""Decides whether the answer for a result is small enough."""


def fit_to_limit(result: PytestResult, limit: int, fits: FitsLimit) -> PytestResult:
    """The first of ever smaller versions of a result that fits; else the smallest.

    Args:
        result: The whole result.
        limit: Bytes; versions that exceed it by a rough count are skipped.
        fits: Decides on other versions.
    """
    form = result
    for form in _smaller_results(result):
        if _least_size(form) <= limit and fits(form):
            break
    return form


def cut_middle(text: str, limit: int) -> str:
    """A text's start and end, with a line that says how much is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def _smaller_results(result: PytestResult) -> Iterator[PytestResult]:
    yield result
    if result.json_report:
        result = _reduced(result, "json_report", json_report={})
        yield result
    result = _without(result, (CaseOutcome.PASSED,), "passed")
    yield result
    for limit in _TEXT_STEPS:
        if len(result.text_output) > limit:
            text = cut_middle(result.text_output, limit)
            yield _reduced(result, "the middle of text_output", text_output=text)
    if len(result.text_output) > _TEXT_STEPS[-1]:
        text = cut_middle(result.text_output, _TEXT_STEPS[-1])
        result = _reduced(result, "the middle of text_output", text_output=text)
    result = _without(result, _QUIET, "skipped, xfailed and xpassed")
    yield result
    yield from _shortened_failures(result)


def _shortened_failures(result: PytestResult) -> Iterator[PytestResult]:
    """Smaller versions of many failures: with shortened tracebacks, then with fewer failures."""
    short = result
    for limit in _TRACEBACK_STEPS:
        short = _reduced(
            result,
            "the middle of long messages and tracebacks",
            tests=tuple(_cut_case(case, limit) for case in result.tests),
            collection_errors=tuple(_cut_error(error, limit) for error in result.collection_errors),
            detail=None if result.detail is None else cut_middle(result.detail, limit),
        )
        yield short
    tests, errors = short.tests, short.collection_errors
    while len(tests) > 1 or len(errors) > 1:
        tests, errors = _shortened(tests), _shortened(errors)
        yield _reduced(
            short,
            *_counted(len(short.tests) - len(tests), len(short.tests), "other tests"),
            *_counted(
                len(short.collection_errors) - len(errors),
                len(short.collection_errors),
                "collection errors",
            ),
            tests=tests,
            collection_errors=errors,
        )


def _without(result: PytestResult, outcomes: Sequence[CaseOutcome], words: str) -> PytestResult:
    kept = tuple(case for case in result.tests if case.outcome not in outcomes)
    gone = len(result.tests) - len(kept)
    return _reduced(result, f"{gone} {words} tests", tests=kept) if gone else result


def _reduced(result: PytestResult, *what: str, **smaller: object) -> PytestResult:
    return result.model_copy(update={**smaller, "omitted": (*result.omitted, *what)})


def _counted(gone: int, total: int, words: str) -> Iterator[str]:
    if gone:
        yield f"{gone} of {total} {words}"


def _shortened(items: tuple[_Item, ...]) -> tuple[_Item, ...]:
    return items[: max(1, len(items) // 2)]


def _cut_case(case: CaseResult, limit: int) -> CaseResult:
    return replace(
        case,
        message=None if case.message is None else cut_middle(case.message, limit),
        traceback=None if case.traceback is None else cut_middle(case.traceback, limit),
    )


def _cut_error(error: CollectionError, limit: int) -> CollectionError:
    shorter = {
        "message": cut_middle(error.message, limit),
        "traceback": cut_middle(error.traceback, limit),
    }
    return error.model_copy(update=shorter)


def _least_size(result: PytestResult) -> int:
    """A lower bound of a result's bytes, without writing it."""
    reported = result.json_report.get("tests")
    return (
        len(result.text_output)
        + _LEAST_OF_A_TEST * len(result.tests)
        + sum(len(case.traceback or "") for case in result.tests)
        + _LEAST_OF_A_TEST * (len(reported) if isinstance(reported, list) else 0)
    )
