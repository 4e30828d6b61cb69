"""Results of a run without a report, from its output; collection errors in text.

The standard library's parser is enough for six attributes. Document types, which all remaining XML
attacks on expat need, are refused, since pytest never writes them.
"""

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from agentbench.core import untrusted_json
from agentbench.python_source import python_syntax
from agentbench.scoring.evidence import CaseOutcome, CollectionFact, NodeId, ReportSource
from agentbench.test_runs.model import CaseResult, CollectionError, ReportedSession

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_MAX_TEXT = 300  # characters of a message or a path
_MAX_LINES = 2_000  # of a traceback, from its end
_FRAME = re.compile(r"^(?P<path>[^\s:][^:\n]*):(?P<line>\d{1,9}): ?(?:in |[A-Z]\w*$|$)")
_NATIVE_FRAME = re.compile(r'^\s*File "(?P<path>[^"\n]+)", line (?P<line>\d{1,9})(?:, in .*)?$')
_ERROR = re.compile(r"^(?P<error>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_SYNTAX_ERROR_LOCATION = re.compile(r" \([^()\n]+, line \d+\)$")  # a SyntaxError repeats it
_INSTALLED = frozenset({"site-packages", "dist-packages"})
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


def error_line(longrepr: str) -> str:
    """The line of a traceback that names the error."""
    lines = [line.strip() for line in longrepr.splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    return (marked or lines or [""])[-1]


def skip_reason(longrepr: str) -> str:
    """The reason in a printed tuple `('path', 3, 'Skipped: reason')`, or the text itself."""
    try:
        printed = python_syntax.literal(longrepr)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return longrepr
    if not isinstance(printed, tuple) or len(printed) != 3:
        return longrepr
    return str(printed[2]).removeprefix("Skipped: ")


def collection_fact(file: str, message: str, traceback: str, root: str) -> CollectionFact:
    """The facts about a file that tests in the folder `root` could not collect.

    Args:
        file: The file that pytest was collecting.
        message: The error in one line, from the reporter.
        traceback: The traceback, in any of pytest's styles.
        root: The folder that the tests ran in.
    """
    lines = traceback.splitlines()[-_MAX_LINES:]
    error, description = _error_class_and_message(lines, message)
    path, line = _broken_line(lines, root)
    description = _SYNTAX_ERROR_LOCATION.sub(
        "", description.replace(f"{root}/", "") if root else description
    )
    description = untrusted_json.text(description, _MAX_TEXT)
    return CollectionFact(file=file, error=error, path=path, line=line, message=description)


def _error_class_and_message(lines: list[str], message: str) -> tuple[str, str]:
    """The error's class and its message. pytest marks its lines; plain Python ends with it."""
    marked = [line[4:] for line in lines if line.startswith("E   ")]
    for text in (*reversed(_last_block(marked)), message.split("\n", 1)[0], *reversed(lines)):
        found = _ERROR.match(text)
        if found:
            name = untrusted_json.text(found["error"].rpartition(".")[2], _MAX_TEXT)
            return name, found["message"] or ""
    return "", message


def _last_block(marked: list[str]) -> list[str]:
    """The lines that may begin a message; others are indented, or follow the first."""
    named = [text for text in marked if _ERROR.match(text)]
    is_syntax = any(_NATIVE_FRAME.match(text) for text in marked)
    return named[-1:] if is_syntax else named[:1]


def _broken_line(lines: list[str], root: str) -> tuple[str, int | None]:
    """The last line of the project's own code in a traceback."""
    for text in reversed(lines):
        bare = text[1:] if text.startswith("E ") else text
        found = _FRAME.match(text) or _NATIVE_FRAME.match(bare)
        path = _in_project(found["path"], root) if found else None
        if found and path is not None:
            return path, int(found["line"])
    return "", None


def _in_project(name: str, root: str) -> str | None:
    path = PurePosixPath(name)
    if path.is_absolute():
        if not root or not path.is_relative_to(root):
            return None
        path = path.relative_to(root)
    if ".." in path.parts or not _INSTALLED.isdisjoint(path.parts) or not path.suffix:
        return None
    return untrusted_json.text(path.as_posix(), _MAX_TEXT)


def read_junit(xml: str) -> ReportedSession | None:
    """The session in a junit file, which pytest writes at its end; None if it is invalid."""
    if len(xml) > JUNIT_LIMIT or "<!" in xml.split("<testsuite", 1)[0]:
        return None
    from xml.etree import ElementTree  # most runs leave a report

    try:
        root = ElementTree.fromstring(xml)
    except (ElementTree.ParseError, ValueError):
        return None
    session = ReportedSession(source=ReportSource.JUNIT, started=True, finished=True)
    for case in root.iter("testcase"):
        _read_testcase(session, case)
    return session


def _read_testcase(session: ReportedSession, case: "Element") -> None:
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


def _outcome_element(case: "Element") -> "tuple[CaseOutcome, Element | None]":
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
        match = _SUMMARY_LINE.match(line)
        if match is None:
            continue
        word, name, message = match[1], untrusted_json.text(match[2]), untrusted_json.text(match[3])
        if word == "ERROR" and "::" not in name:
            session.add_collection_error(CollectionError(file=name, message=message))
            continue
        node_id, outcome = NodeId(name), _TEXT_WORDS[word]
        case = CaseResult(node_id=node_id, outcome=outcome, duration=0.0, message=message or None)
        session.add_result(case)
    return session
