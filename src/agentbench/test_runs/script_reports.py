"""The tests in the report that a task's own script wrote: CTRF's JSON, or JUnit's XML.

CTRF is the Common Test Report Format, https://ctrf.io. Code under test may have written either of
them, so that they explain a reward and decide nothing.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from agentbench.core import untrusted_json
from agentbench.core.schema import JsonObject
from agentbench.scoring.evidence import CaseOutcome, ScriptTest
from agentbench.scoring.node_ids import is_node_id, node_id_of
from agentbench.test_runs.report_formats import junit_cases

CTRF, JUNIT = "ctrf.json", "junit.xml"
"""The files of a report, in the verifier's folder."""

_MAX_TESTS = 10_000
_MAX_NAME = 1_000  # characters
_MAX_MESSAGE = 300
_OUTCOMES: Mapping[str, CaseOutcome] = MappingProxyType(
    {
        "passed": CaseOutcome.PASSED,
        "failed": CaseOutcome.FAILED,
        "skipped": CaseOutcome.SKIPPED,
        "pending": CaseOutcome.SKIPPED,
    }
)


def read_script_tests(reports: Mapping[str, bytes]) -> tuple[ScriptTest, ...]:
    """The tests of the first report that has any; a damaged report has none.

    A name that is reported twice has its worst outcome.
    """
    for name, read in ((CTRF, _in_ctrf), (JUNIT, _in_junit)):
        found: dict[str, ScriptTest] = {}
        for test in islice(read(reports.get(name, b"")), _MAX_TESTS):
            known = found.get(test.node_id)
            if known is None or known.outcome is CaseOutcome.PASSED:
                found[test.node_id] = test
        if found:
            return tuple(found.values())
    return ()


def _in_ctrf(content: bytes) -> Iterator[ScriptTest]:
    document = untrusted_json.json_object(content.decode("utf-8", "replace")) or {}
    results = document.get("results")
    for test in untrusted_json.objects(results.get("tests") if isinstance(results, dict) else None):
        name = untrusted_json.text(test.get("name"), _MAX_NAME)
        if name:
            yield ScriptTest(
                node_id=_node_id(test, name),
                outcome=_OUTCOMES.get(
                    untrusted_json.text(test.get("status")), CaseOutcome.UNFINISHED
                ),
                message=untrusted_json.text(test.get("message"), _MAX_MESSAGE),
            )


def _node_id(test: JsonObject, name: str) -> str:
    if is_node_id(name):
        return name
    file = untrusted_json.text(test.get("filePath"), _MAX_NAME)
    suites = test.get("suite")  # a list, the outer suite first, or one name
    outer = suites if isinstance(suites, list) else [suites]
    words = [untrusted_json.text(each, _MAX_NAME) for each in (*outer, name)]
    inner = " > ".join(filter(None, words))
    return node_id_of(file, inner) if file else inner


def _in_junit(content: bytes) -> Iterator[ScriptTest]:
    try:
        cases = list(junit_cases(JUNIT, content.decode("utf-8", "replace")))
    except ValueError:
        return
    for case in cases:
        yield ScriptTest(
            node_id=case.node_id, outcome=case.outcome, message=(case.message or "")[:_MAX_MESSAGE]
        )
