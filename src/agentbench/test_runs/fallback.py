"""Results by other reporters than ours: pytest-json-report, junit files, and the printed text."""

import re
from pathlib import PurePosixPath
from xml.etree import ElementTree

from agentbench.core import untrusted_json
from agentbench.core.schema import JsonObject
from agentbench.python_source import python_syntax
from agentbench.scoring.evidence import CaseOutcome, CollectionFact, NodeId, ReportSource
from agentbench.test_runs import model
from agentbench.test_runs.model import CaseResult, CollectionError, ReportedSession

_MAX_TEXT = 300  # characters of a message or a path
_MAX_LINES = 2_000  # of a traceback, from its end
_FRAME = re.compile(r"^(?P<path>[^\s:][^:\n]*):(?P<line>\d{1,9}): ?(?:in |[A-Z]\w*$|$)")
_NATIVE_FRAME = re.compile(r'^\s*File "(?P<path>[^"\n]+)", line (?P<line>\d{1,9})(?:, in .*)?$')
_ERROR = re.compile(r"^(?P<error>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
# The message of a SyntaxError repeats its file and line.
_SYNTAX_ERROR_LOCATION = re.compile(r" \([^()\n]+, line \d+\)$")
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_JUNIT_TAGS = {
    "failure": CaseOutcome.FAILED,
    "error": CaseOutcome.ERROR,
    "skipped": CaseOutcome.SKIPPED,
}
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
    # pytest marks the lines of an error; plain Python ends with them. Only the first or the last
    # named line may begin the message: others are indented, or follow the first.
    marked = [line[4:] for line in lines if line.startswith("E   ")]
    named = [text for text in marked if _ERROR.match(text)]
    is_syntax = any(_NATIVE_FRAME.match(text) for text in marked)
    named = named[-1:] if is_syntax else named[:1]
    error, description = "", message
    for text in (*named, message.split("\n", 1)[0], *reversed(lines)):
        if found := _ERROR.match(text):
            error = untrusted_json.text(found["error"].rpartition(".")[2], _MAX_TEXT)
            description = found["message"] or ""
            break
    path, line = _broken_line(lines, root)
    description = _SYNTAX_ERROR_LOCATION.sub(
        "", description.replace(f"{root}/", "") if root else description
    )
    description = untrusted_json.text(description, _MAX_TEXT)
    return CollectionFact(file=file, error=error, path=path, line=line, message=description)


# The last line of the project's own code, since the last line of all is often in a library.
def _broken_line(lines: list[str], root: str) -> tuple[str, int | None]:
    for text in reversed(lines):
        bare = text[1:] if text.startswith("E ") else text
        found = _FRAME.match(text) or _NATIVE_FRAME.match(bare)
        if found is None:
            continue
        path = PurePosixPath(found["path"])
        if path.is_absolute():
            if not root or not path.is_relative_to(root):
                continue
            path = path.relative_to(root)
        is_installed = not _INSTALLED.isdisjoint(path.parts)
        if path.suffix and not is_installed and ".." not in path.parts:
            return untrusted_json.text(path.as_posix(), _MAX_TEXT), int(found["line"])
    return "", None


def read_junit(xml: str) -> ReportedSession | None:
    """The session in a junit file, which pytest writes at its end; None if it is invalid."""
    # The standard library's parser is enough for six attributes. Document types, which all
    # remaining XML attacks on expat need, are refused, since pytest never writes them.
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
    outcome, child = CaseOutcome.PASSED, None
    for tag, meaning in _JUNIT_TAGS.items():
        if child is None and (child := case.find(tag)) is not None:
            outcome = meaning
    if child is not None and child.tag == "skipped" and child.get("type") == "pytest.xfail":
        outcome = CaseOutcome.XFAILED
    try:
        duration = untrusted_json.seconds(float(case.get("time") or 0))
    except ValueError:
        duration = 0.0
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
            duration=duration,
            message=message or None,
            traceback=(traceback or None) if failed else None,
        )
    )


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


# The last is xdist's name of the phase in which a worker died.
_REPORTED_PHASES = (*model.PASSED_PHASES, "???")
_XFAIL_WORDS = ("xfailed", "xpassed")


def read_json_report(report: JsonObject) -> model.ReportedSession:
    """The session in a report, which is only written when the session finishes."""
    session = model.ReportedSession(source=ReportSource.JSON_REPORT, json_report=report)
    status = untrusted_json.exit_status(report.get("exitcode"))
    session.started = session.finished = session.collection_finished = status is not None
    session.exit_status = status
    session.duration = untrusted_json.seconds(report.get("duration"))
    summary = report.get("summary")
    if isinstance(summary, dict):
        session.deselected = untrusted_json.count(summary.get("deselected")) or 0
        collected = untrusted_json.count(summary.get("collected"))
        if collected is not None:
            session.collected_count = max(0, collected - session.deselected)
    for collector in untrusted_json.objects(report.get("collectors")):
        file = untrusted_json.text(collector.get("nodeid")).split("::")[0] or "unknown"
        longrepr = untrusted_json.text(collector.get("longrepr"))
        if collector.get("outcome") == "failed":
            error = model.CollectionError(
                file=file, message=error_line(longrepr), traceback=longrepr
            )
            session.add_collection_error(error)
        elif collector.get("outcome") == "skipped":
            session.add_skipped_file(NodeId(file), skip_reason(longrepr))
    for test in untrusted_json.objects(report.get("tests")):
        _read_test(session, test)
    return session


def _read_test(session: model.ReportedSession, test: JsonObject) -> None:
    plain = test.get("outcome") not in _XFAIL_WORDS
    phases: list[model.Phase] = []
    duration = 0.0
    for word in _REPORTED_PHASES:
        stage = test.get(word)
        if not isinstance(stage, dict):
            continue
        duration += untrusted_json.seconds(stage.get("duration"))
        if plain and stage.get("outcome") == "passed" and word in model.PASSED_PHASES:
            phases.append(model.PASSED_PHASES[word])
        else:
            phases.append(_read_phase(word, stage, expected_to_fail=not plain))
    node_id = NodeId(untrusted_json.text(test.get("nodeid")))
    session.add(node_id, *phases, duration=duration)


def _read_phase(word: str, stage: JsonObject, *, expected_to_fail: bool) -> model.Phase:
    when, outcome = model.parse_phase(word, stage.get("outcome"))
    longrepr = untrusted_json.text(stage.get("longrepr"))
    crash = stage.get("crash")
    message = untrusted_json.text(crash.get("message")) if isinstance(crash, dict) else ""
    if not message:
        skipped = outcome is model.PhaseOutcome.SKIPPED
        message = skip_reason(longrepr) if skipped else error_line(longrepr)
    return model.Phase(
        when=when,
        outcome=outcome,
        message=message or None,
        traceback=longrepr or None,
        expected_to_fail=expected_to_fail and when is not model.PhaseName.TEARDOWN,
    )
