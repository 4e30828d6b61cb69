"""Reads results if both reporters wrote nothing: from junit XML, then from printed text.

The standard library's parser is enough for six attributes. Document types, which all remaining
XML attacks on expat need, are refused, since pytest writes none.
"""

import re
from xml.etree import ElementTree

from agentbench.core import untrusted_json
from agentbench.pytest_results.collection_errors import error_line, skip_reason
from agentbench.pytest_results.model import CaseResult, CollectionError, ReportedSession
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportSource

JUNIT_LIMIT = 64 * 1024 * 1024  # the most characters of a junit file
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_SUMMARY = re.compile(r"^=+ short test summary info =+$")
_SUMMARY_LINE = re.compile(r"^(PASSED|FAILED|ERROR|XFAIL|XPASS) (\S.*?)(?: - (.*))?$")
_TEXT_WORDS = {
    "PASSED": CaseOutcome.PASSED,
    "FAILED": CaseOutcome.FAILED,
    "ERROR": CaseOutcome.ERROR,
    "XFAIL": CaseOutcome.XFAILED,
    "XPASS": CaseOutcome.XPASSED,
}


def read_junit(xml: str) -> ReportedSession | None:
    """The session in a junit file, which pytest writes at its end; None if it is invalid."""
    if len(xml) > JUNIT_LIMIT or "<!" in xml.split("<testsuite", 1)[0]:
        return None
    try:
        root = ElementTree.fromstring(xml)
    except (ElementTree.ParseError, ValueError):
        return None
    session = ReportedSession(source=ReportSource.JUNIT, started=True, finished=True)
    for case in root.iter("testcase"):
        _read_testcase(session, case)
    return session


def _read_testcase(session: ReportedSession, case: ElementTree.Element) -> None:
    outcome, child = _outcome_element(case)
    file = untrusted_json.text(case.get("file")) or "unknown"
    message = untrusted_json.text(child.get("message")) if child is not None else ""
    traceback = untrusted_json.text(child.text) if child is not None else ""
    if message == "collection failure":
        error = CollectionError(file=file, message=error_line(traceback), traceback=traceback)
        session.add_collection_error(error)
        return
    if message == "collection skipped":
        node_id, message = file, skip_reason(traceback)
    else:
        # `a/test_b.py::Class::name` from the file and the dotted class name
        module = file.removesuffix(".py").replace("/", ".")
        dotted = untrusted_json.text(case.get("classname"))
        classes = dotted.removeprefix(module).strip(".").split(".") if dotted != module else []
        node_id = "::".join([file, *filter(None, classes), untrusted_json.text(case.get("name"))])
    failed = outcome in (CaseOutcome.FAILED, CaseOutcome.ERROR)
    session.add_result(
        CaseResult(
            node_id=NodeId(node_id),
            outcome=outcome,
            duration=_seconds(case.get("time")),
            message=message or None,
            traceback=(traceback or None) if failed else None,
        )
    )


def _outcome_element(case: ElementTree.Element) -> tuple[CaseOutcome, ElementTree.Element | None]:
    """The outcome and its element; a skip may be an expected failure."""
    for tag, outcome in (("failure", CaseOutcome.FAILED), ("error", CaseOutcome.ERROR)):
        child = case.find(tag)
        if child is not None:
            return outcome, child
    child = case.find("skipped")
    if child is None:
        return CaseOutcome.PASSED, None
    expected = child.get("type") == "pytest.xfail"
    return (CaseOutcome.XFAILED if expected else CaseOutcome.SKIPPED), child


def _seconds(text: str | None) -> float:
    try:
        return untrusted_json.seconds(float(text or 0))
    except ValueError:
        return 0.0


def read_text(output: str) -> ReportedSession | None:
    """The session in the short summary that pytest prints with -rA; any test can forge it."""
    lines = _ESCAPES.sub("", output).splitlines()
    headers = [number for number, line in enumerate(lines) if _SUMMARY.match(line)]
    if not headers:
        return None
    session = ReportedSession(source=ReportSource.TEXT)
    for line in lines[headers[-1] + 1 :]:
        told = _SUMMARY_LINE.match(line)
        if told is not None:
            _read_line(session, *told.groups())
    return session


def _read_line(session: ReportedSession, word: str, name: str, message: str | None) -> None:
    name = untrusted_json.text(name)
    message = untrusted_json.text(message)
    if word == "ERROR" and "::" not in name:
        session.add_collection_error(CollectionError(file=name, message=message))
        return
    outcome = _TEXT_WORDS[word]
    session.add_result(
        CaseResult(node_id=NodeId(name), outcome=outcome, duration=0.0, message=message or None)
    )
