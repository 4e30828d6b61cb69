"""The runners `junit` and `tap`: any command that writes JUnit's XML files, or prints TAP.

A test's id is `FILE::name`. In XML, FILE is the file that the report names, or else the source file
of the class, or else the class's name as a path. In TAP, FILE is the file that `prove` or a subtest
names, or else the report, or else the program that the command starts.
"""

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from shlex import quote
from types import MappingProxyType
from typing import Any

import junitparser
from junitparser import xunit2
from tap.line import Result
from tap.parser import Parser

from agentbench.core import untrusted_json
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportSource
from agentbench.scoring.node_ids import node_id_of
from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs.external_runner import (
    OUTPUT_FILE,
    ExternalFiles,
    ExternalReport,
    ExternalRunner,
)
from agentbench.test_runs.fallback import JUNIT_LIMIT
from agentbench.test_runs.model import CaseResult
from agentbench.test_runs.runner import BaseContent, Protected, ProtectedFiles, RunRequest
from agentbench.test_runs.stream import LINE_LIMIT, lines_of

_REPORTS = "reports"
_SOURCES = "sources"
_ROOT = "root"
_SEPARATOR = "\x1e"  # no XML document has this character
_MAX_NAME = 2_000
# In TAP, `\#` is no directive. This character stands for it while the library reads a line.
_HASH = "\ue000"


class ReportRunner(ExternalRunner):
    """A command with a report in a standard format."""

    report_files = MappingProxyType(
        {OUTPUT_FILE: 256 << 20, _REPORTS: 256 << 20, _SOURCES: 32 << 20, _ROOT: 1 << 16}
    )

    def __init__(self, command: TestCommand) -> None:
        super().__init__(command)
        # `find` neither follows links nor leaves the folder, and its `*` also matches slashes.
        matching = f"find . -path {quote(f'./{command.report}')} -type f" if command.report else ""
        listing = (
            'pwd >"$results/root"; find . \\( -name .git -o -name node_modules \\) -prune '
            "-o -type f -name '*.*' -print >\"$results/sources\""
        )
        self.before = f"{matching} -exec rm -f -- {{}} +; {listing}" if matching else listing
        self._after = ""
        if matching:
            each = 'for f do printf "\\036%s\\n" "$f"; cat -- "$f"; done'
            self._after = f'{matching} -exec sh -c {quote(each)} sh {{}} + >"$results/reports"'

    @property
    def after(self) -> str:
        return self._after

    def check(self, request: RunRequest) -> None:
        super().check(request)
        if request.keyword is not None:
            raise ValueError(f"a keyword needs a runner that selects tests, not {self.name}")
        if request.collect_only:
            raise ValueError(f"tests under {self.name} can only be listed by running them")

    def command(
        self, _sandbox: Sandbox, _request: RunRequest, _results: PurePosixPath
    ) -> Iterable[str]:
        return self._command.words  # it runs all tests, whichever are asked for

    def is_test_file(self, path: PurePosixPath) -> bool:
        return _is_test(path)

    def protection(self, _base: Iterable[PurePosixPath]) -> ProtectedFiles:
        return ReportedTestFiles(self._command.words)

    def report(self, files: Mapping[str, str], _request: RunRequest) -> ExternalReport:
        report = ExternalReport(source=ReportSource.JUNIT)
        report.finished = True
        written = sorted(
            (name.removeprefix("./"), text)
            for name, _, text in (
                each.partition("\n") for each in files.get(_REPORTS, "").split(_SEPARATOR)[1:]
            )
        )
        self.read_into(report, files, written)
        report.finished = report.finished and report.started
        return report

    @abstractmethod
    def read_into(
        self, report: ExternalReport, files: Mapping[str, str], written: list[tuple[str, str]]
    ) -> None:
        """Fill a report from the files of `report` that the command wrote, with their names."""


class _Project:
    """The files of the project, to find those of classes."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._root = PurePosixPath(files.get(_ROOT, "").strip() or "/")
        self.paths = {line.removeprefix("./") for line in files.get(_SOURCES, "").splitlines()}
        self._by_stem: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            self._by_stem.setdefault(PurePosixPath(path).stem, []).append(path)

    def relative(self, path: str) -> str | None:
        """A path that a report names, relative to the project; None if it is outside."""
        found = PurePosixPath(path)
        if found.is_absolute():
            if not found.is_relative_to(self._root):
                return None
            found = found.relative_to(self._root)
        return None if ".." in found.parts or not found.parts else str(found)

    def file_and_rest(self, class_name: str) -> tuple[str, str]:
        """The source file of a class, and what its name has besides: the names of inner classes."""
        parts = re.split(r"[.$]", class_name)
        for length in range(len(parts), 0, -1):
            stem = "/".join(parts[:length])
            found = [
                path
                for path in self._by_stem.get(parts[length - 1], ())
                if f"/{path}".rpartition(".")[0].endswith(f"/{stem}")
            ]
            if len(found) == 1:
                return found[0], ".".join(parts[length:])
        return "/".join(filter(None, parts)) or "unknown", ""


class JunitRunner(ReportRunner):
    """A command that writes JUnit's XML files."""

    def read_into(
        self, report: ExternalReport, files: Mapping[str, str], written: list[tuple[str, str]]
    ) -> None:
        project = _Project(files)
        for name, text in written:
            report.started = True
            try:
                report.cases += junit_cases(name, text, project)
            except ValueError as error:
                # A damaged file may have had a failure, so that the report is not whole.
                report.finished = False
                report.detail = report.detail or f"{name}: {error}"[:300]
        if not written:
            report.detail = f"the command wrote no file {self._command.report}"


def junit_cases(name: str, text: str, project: _Project | None = None) -> list[CaseResult]:
    """The tests in a report in JUnit's format.

    Args:
        name: The report's path, the file of tests without file and class.
        text: Its content.
        project: The files of the project; None: they are not known.

    Raises:
        ValueError: the report is damaged or too large, or has a document type.
    """
    try:
        # The runner's own format, with the elements that Surefire adds for repeated tests.
        root = xunit2.JUnitXml.fromstring(_without_prolog(text))
        return list(_cases_of(root, name, project or _Project({})))
    except (SyntaxError, RecursionError, junitparser.JUnitXmlError) as error:
        raise ValueError(str(error)) from error


# Atomic groups: what a report has before its root must not be tried in every division.
_PROLOG = re.compile(r"\ufeff?\s*(?:(?>(?s:<\?.*?\?>|<!--.*?-->))\s*+)*+(?=<testsuites?[\s/>])")


def _without_prolog(text: str) -> str:
    """An XML document from its root on; raises ValueError for one that may define entities."""
    if len(text) > JUNIT_LIMIT:
        raise ValueError("the file is too large")
    # Document types, which all attacks on XML parsers need, are refused.
    prolog = _PROLOG.match(text)
    if prolog is None:
        raise ValueError("it is no report in JUnit's format, or has a document type")
    return text[prolog.end() :]


def _cases_of(
    root: junitparser.JUnitXml | junitparser.TestSuite, report: str, project: _Project
) -> Iterator[CaseResult]:
    is_suite = isinstance(root, junitparser.TestSuite)
    # A stack, because a forged file may have any depth. The library has no types for its members.
    pending: list[tuple[Any, str]] = [(each, "") for each in ([root] if is_suite else root)]
    while pending:
        suite, parent = pending.pop()
        name = " > ".join(filter(None, (parent, untrusted_json.text(suite.name, _MAX_NAME))))
        for case in suite.iterchildren(xunit2.TestCase):
            yield _case(case, suite, name, report, project)
        pending += [(inner, name) for inner in reversed(list(suite.testsuites()))]


def _case(
    case: xunit2.TestCase,
    suite: junitparser.TestSuite,
    suite_name: str,
    report: str,
    project: _Project,
) -> CaseResult:
    name = untrusted_json.text(case.name, _MAX_NAME)
    class_name = untrusted_json.text(case.classname, _MAX_NAME)
    named = case._elem.get("file") or suite._elem.get("file") or ""  # no property of it
    file = project.relative(untrusted_json.text(named, _MAX_NAME)) if named else None
    rest = ""
    if file is not None:
        # A class in a file that the report names may have the file's own name in its.
        _, rest = project.file_and_rest(class_name) if class_name else ("", suite_name)
    elif class_name:
        file, rest = project.file_and_rest(class_name)
    else:
        file, rest = report, suite_name
    outcome, message, text = CaseOutcome.PASSED, None, None
    for result in case.result:
        found = (
            CaseOutcome.ERROR
            if isinstance(result, junitparser.Error)
            else CaseOutcome.FAILED
            if isinstance(result, junitparser.Failure)
            else CaseOutcome.SKIPPED
        )
        if outcome in {CaseOutcome.PASSED, CaseOutcome.SKIPPED}:
            outcome = found
            message = untrusted_json.text(result.message or result.text, 300).strip() or None
            text = untrusted_json.text(result.text) or None
    if outcome is CaseOutcome.PASSED and case.interim_result:
        message = "it failed before it passed"  # Surefire repeated it
    return CaseResult(
        node_id=node_id_of(file, ".".join(filter(None, (rest, name))) or "unnamed"),
        outcome=outcome,
        duration=untrusted_json.seconds(_seconds(case)),
        message=message,
        traceback=text,
        # The second one is how googletest and JUnit's own console print it.
        names=(name, f"{class_name}.{name}") if class_name else (name,),
    )


def _seconds(case: xunit2.TestCase) -> float:
    try:
        return case.time or 0.0
    except ValueError:  # `1,234.5`
        return 0.0


class TapRunner(ReportRunner):
    """A command that prints the Test Anything Protocol, or writes it to files."""

    def read_into(
        self, report: ExternalReport, files: Mapping[str, str], written: list[tuple[str, str]]
    ) -> None:
        project = _Project(files)
        if not self._command.report:
            written = [(_program_of(self._command.words), files.get(OUTPUT_FILE, ""))]
        for name, text in written:
            for stream in _streams_of(text, name):
                stream.add_to(report, project)
        if self._command.report and not written:
            report.detail = f"the command wrote no file {self._command.report}"


def _program_of(words: Iterable[str]) -> str:
    """The script that a command starts, or else its program."""
    words = list(words)
    for word in words:
        path = PurePosixPath(word)
        # A word with blanks is a script for `sh -c`, and no path.
        is_path = not word.startswith("-") and not re.search(r"\s", word)
        is_path = is_path and ("/" in word or bool(path.suffix))
        if is_path and not path.is_absolute() and ".." not in path.parts and path.parts:
            return str(path)
    return PurePosixPath(words[0]).name


_PROVE = re.compile(r"(?P<file>\S+) \.{2,} *$")
_SUBTEST = re.compile(r"# Subtest(?:: (?P<name>.*))?$")
_LEVEL = 4  # blanks
_NO_RESULT = re.compile(r"(?:not )?ok(?=[^\s])")  # `okay`, which the library takes for a result


@dataclass(slots=True)
class _Level:
    """The results of one level of subtests."""

    cases: list[CaseResult] = field(default_factory=list)  # also of lower levels
    results: int = 0
    plans: list[int] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return self.plans == [self.results]


def _streams_of(text: str, name: str) -> Iterator["_TapStream"]:
    """The streams in an output: one, or one for each file that `prove --verbose` runs."""
    stream = _TapStream(name)
    for line in lines_of(text):
        if len(line) > LINE_LIMIT:
            continue
        line = line.rstrip()
        header = _PROVE.match(line)
        if header is not None and not stream.is_open:
            yield stream
            stream = _TapStream(header["file"].removeprefix("./"), by_prove=True)
        else:
            stream.read(line)
    yield stream


class _TapStream:
    """Reads one TAP stream: its results, those of its subtests, and its plan."""

    def __init__(self, file: str, *, by_prove: bool = False) -> None:
        self._file = file
        self._by_prove = by_prove
        self._parser = Parser()
        self._levels = [_Level()]
        self._yaml: int | None = None  # the indentation of a block of YAML
        self._buffered: list[CaseResult] = []  # tests whose subtests follow, in braces
        self._lines = 0
        self._groups = False  # whether comments name tests, and results are their assertions
        self._group: CaseResult | None = None
        self._is_broken = False
        self._detail: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether results are still to come."""
        top = self._levels[0]
        return top.results > 0 and not top.plans

    def read(self, line: str) -> None:
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        if self._yaml is not None:
            if text == "..." and indent == self._yaml:
                self._yaml = None
            if indent >= self._yaml if self._yaml is not None else True:
                return
            self._yaml = None
        if text == "---" and indent:
            self._yaml = indent
            return
        depth, odd = divmod(indent, _LEVEL)
        if odd or not text:
            return
        self._lines += text.startswith(("TAP version", "#", "ok", "not ok", "1.."))
        if text.startswith("#") and not depth:
            self._comment(text)
        if text == "}" and self._buffered:
            self._end_level(depth + 1, self._buffered.pop())
            return
        if self._by_prove and not depth and self._levels[0].is_whole:
            return  # prove's own words about the file, such as `ok`
        if _NO_RESULT.match(text):
            return
        try:
            found = self._parser.parse_line(text.replace("\\#", _HASH))
        except ValueError:  # a version before 13
            return
        while len(self._levels) <= depth and found.category in {"test", "plan", "bail"}:
            self._levels.append(_Level())
        if found.category == "plan":
            self._levels[depth].plans.append(found.expected_tests)
        elif found.category == "bail":
            self._is_broken = True
            self._detail = f"Bail out! {found.reason}".strip()[:300]
        elif found.category == "test":
            self._result(depth, found)

    def _comment(self, text: str) -> None:
        # tape names its tests by comments, of which the first follows the version.
        if self._lines == 2 and not _SUBTEST.match(text):
            self._groups = True
        if self._groups and not self._levels[0].plans:
            self._end_group()
            name = text.removeprefix("#").strip()
            skipped = name.removeprefix("SKIP ") if name.startswith("SKIP ") else None
            self._group = CaseResult(
                node_id=NodeId(skipped or name),
                outcome=CaseOutcome.UNFINISHED if skipped is None else CaseOutcome.SKIPPED,
                duration=0.0,
            )

    def _end_group(self) -> None:
        if self._group is not None and self._group.outcome is not CaseOutcome.UNFINISHED:
            self._levels[0].cases.append(self._group)
        self._group = None

    def _result(self, depth: int, found: Result) -> None:
        level = self._levels[depth]
        level.results += 1
        name = found.description.replace(_HASH, "#").removeprefix("- ").strip()
        opens = name.endswith("{")
        name = name.removesuffix("{").strip() if opens else name
        outcome = CaseOutcome.PASSED if found.ok else CaseOutcome.FAILED
        if found.skip:
            outcome = CaseOutcome.SKIPPED
        elif found.todo:
            outcome = CaseOutcome.XPASSED if found.ok else CaseOutcome.XFAILED
        case = CaseResult(
            node_id=NodeId(untrusted_json.text(name, _MAX_NAME) or f"test {level.results}"),
            outcome=outcome,
            duration=0.0,
            message=str(found.directive.reason or "") or None,
        )
        if self._groups and not depth:
            self._add_assertion(case)
        elif opens:
            self._buffered.append(case)
            level.cases.append(case)
        else:
            self._end_level(depth + 1, case)
            level.cases.append(case)

    def _add_assertion(self, case: CaseResult) -> None:
        """Add a result to the test that the last comment named; its first failure counts."""
        group = self._group
        if group is None:
            self._levels[0].cases.append(case)
        elif group.outcome is not CaseOutcome.FAILED:
            # tape exits with 1 for a failure with TODO, too.
            passed = case.outcome in {CaseOutcome.PASSED, CaseOutcome.XPASSED, CaseOutcome.SKIPPED}
            outcome = CaseOutcome.PASSED if passed else CaseOutcome.FAILED
            message = None if passed else str(case.node_id)
            self._group = replace(group, outcome=outcome, message=message)

    def _end_level(self, depth: int, parent: CaseResult) -> None:
        """The subtests of a test are complete: they get its name before theirs."""
        while len(self._levels) > depth + 1:
            self._is_broken = True  # a level ended without its test
            self._levels.pop()
        if len(self._levels) == depth + 1:
            level = self._levels.pop()
            self._is_broken = self._is_broken or not level.is_whole
            self._levels[depth - 1].cases += [
                replace(case, node_id=NodeId(f"{parent.node_id} > {case.node_id}"))
                for case in level.cases
            ]

    def add_to(self, report: ExternalReport, project: _Project) -> None:
        self._end_group()
        top = self._levels[0]
        if not top.results and not top.plans and not self._is_broken:
            # Text that is no TAP: before the first file of prove, or all of the output.
            if self._by_prove:
                report.finished = False
            return
        report.started = True
        is_whole = len(self._levels) == 1 and top.is_whole and not self._is_broken
        report.finished = report.finished and is_whole
        report.detail = report.detail or self._detail
        if not is_whole and report.detail is None:
            report.detail = f"{self._file}: {top.results} results, and a plan of {top.plans}"
        for case in top.cases:
            file, name = self._file, str(case.node_id)
            first, arrow, rest = name.partition(" > ")
            if (first.removeprefix("./")) in project.paths:
                # node-tap and others run each file as a test of its own.
                file, name = first.removeprefix("./"), rest if arrow else "the whole file"
            # Whole as printed, too: lists of other tools have it.
            names = tuple(dict.fromkeys((name, str(case.node_id))))
            report.cases.append(replace(case, node_id=node_id_of(file, name), names=names))


_TEST_FOLDERS = frozenset({"test", "tests", "spec", "specs", "t", "__tests__", "testdata"})
_TEST_NAME = re.compile(r"(?:Tests?|IT|Spec)$|^[Tt]est(?=[A-Z_]|s?$)|[._-](?:test|spec)s?$")
_WRAPPERS = frozenset({"mvnw", "mvnw.cmd", "gradlew", "gradlew.bat"})
_BUILD_FILES = frozenset(
    {"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts",
     "gradle.properties", "build.xml", "build.sbt"}
)  # fmt: skip


def _is_test(path: PurePosixPath) -> bool:
    name = path.name.partition(".")[0] if path.name.count(".") == 1 else path.stem
    in_folder = not _TEST_FOLDERS.isdisjoint(path.parts[:-1])
    return in_folder or path.suffix == ".t" or _TEST_NAME.search(name) is not None


class ReportedTestFiles(ExternalFiles):
    """The files that steer the tests of a command; a task's `protected` adds to them."""

    def __init__(self, words: Iterable[str]) -> None:
        self._named = {PurePosixPath(word) for word in words if not word.startswith("-")}

    def steers(self, path: PurePosixPath) -> Protected | None:
        if path in self._named:
            return Protected("named by the command of the tests", tampers=True)
        if path.name in _WRAPPERS or ".mvn" in path.parts or path.parts[:1] == ("gradle",):
            return Protected("starts the tests", tampers=True)
        if path.name in _BUILD_FILES:
            # Also a honest change may have touched it, for a dependency.
            return Protected("configuration of the build", tampers=False)
        return None

    def judged(
        self, _path: PurePosixPath, _base: BaseContent, _after: bytes | None
    ) -> tuple[bytes | None, Protected] | None:
        return None

    def configures(self, path: PurePosixPath) -> bool:
        return path.name in _BUILD_FILES

    def is_test(self, path: PurePosixPath) -> bool:
        return _is_test(path)
