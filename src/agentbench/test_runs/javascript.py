"""jest, vitest, mocha and `node --test`: their commands, and the records of agentbench's reporters.

A test's id is `FILE::outer > inner > title`. A second test with the same titles in a file has ` #2`
at its end. The reporters in `mounted_javascript` write one line for each fact (`stream.cjs`).
"""

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from agentbench.core import untrusted_json
from agentbench.core.schema import JsonObject
from agentbench.sandbox.interface import ReadOnlyMount, Sandbox
from agentbench.scoring.evidence import FAILING_OUTCOMES, CaseOutcome, NodeId, ReportSource
from agentbench.scoring.node_ids import file_of, is_node_id, name_in_file, node_id_of
from agentbench.test_runs.external_runner import (
    OUTPUT_FILE,
    ExternalReport,
    ExternalRunner,
)
from agentbench.test_runs.javascript_files import JavaScriptTestFiles, is_javascript_test
from agentbench.test_runs.model import CaseResult
from agentbench.test_runs.runner import ProtectedFiles, RunRequest
from agentbench.test_runs.stream import FORGED, LINE_LIMIT, lines_of

REPORTERS_MOUNT = "agentbench_javascript"
STREAM_FILE = "stream.jsonl"
SECOND_FILE = "second"
"""The report of the tool itself, which has to agree."""

_LIMIT = 256 << 20  # bytes of each file
_NO_TEST = "(?!)"  # a pattern that no name has: the tests are loaded, and listed as skipped
_SEPARATOR = " > "
_ORDINAL = re.compile(r" #\d+$")
_SPACES = re.compile(r"[\s\x00]+")
_SOURCES = frozenset({".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"})
_NO_TESTS = re.compile(r"No tests? (?:files? )?found|Could not find '")
# Node refuses files that do not exist. Until version 20 a folder stands for the tests in it, later
# a pattern does.
_NODE_TARGETS = """\
left=$1 found=
shift
while [ "$left" -gt 0 ]; do
  target=$1 left=$((left - 1))
  shift
  if [ -d "$target" ]; then
    case $(node --version) in
      v18.* | v20.*) ;;
      *) target="$target/**/*.{js,cjs,mjs,ts,cts,mts}" ;;
    esac
  elif [ ! -e "$target" ]; then
    continue
  fi
  found=1
  set -- "$@" "$target"
done
[ "$found" ] || { echo "No test files found" >&2; exit 1; }
exec "$@"
"""
_ERROR_LINE = re.compile(r"\b(?:[A-Z]\w*)?Error(?: \[\w+\])?: .+|\berror: .+")
_TAP_OK = re.compile(r"\s*ok \d+ - (?P<title>.*)")
_STATUSES = {
    "passed": CaseOutcome.PASSED,
    "failed": CaseOutcome.FAILED,
    "error": CaseOutcome.ERROR,
    "skipped": CaseOutcome.SKIPPED,
    "todo": CaseOutcome.SKIPPED,
}


class JavaScriptRunner(ExternalRunner):
    """What the four have in common: agentbench's reporter, and its records."""

    env = MappingProxyType(
        {
            "CI": "true",  # no watching, no prompts, no snapshots written
            "NO_COLOR": "1",
            "FORCE_COLOR": "0",
            # A missing tool is an error at once: a sandbox without a network would wait.
            "npm_config_offline": "true",
            "npm_config_update_notifier": "false",
        }
    )
    report_files = MappingProxyType({OUTPUT_FILE: _LIMIT, STREAM_FILE: _LIMIT, SECOND_FILE: _LIMIT})
    # The reporter removes them again before code of the project runs.
    before = 'export AGENTBENCH_RESULTS="$results" AGENTBENCH_ROOT="$(pwd -P)"'
    can_list = True
    has_second = True

    def mounts(self) -> tuple[ReadOnlyMount, ...]:
        source = Path(__file__).parent / "mounted_javascript"
        return (ReadOnlyMount(name=REPORTERS_MOUNT, source=source),)

    def check(self, request: RunRequest) -> None:
        super().check(request)
        if request.collect_only and not self.can_list:
            raise ValueError(f"{self.name} cannot list its tests without running them")

    @abstractmethod
    def options(
        self, sandbox: Sandbox, request: RunRequest, results: PurePosixPath
    ) -> Iterable[str]:
        """The options of the tool, after those of the task's command."""

    def command(
        self, sandbox: Sandbox, request: RunRequest, results: PurePosixPath
    ) -> Iterator[str]:
        words = self._command.words
        yield from words
        # npm keeps options before `--` for itself.
        if words[0] == "npm" and "--" not in words:
            yield "--"
        yield from self.options(sandbox, request, results)

    def report(self, files: Mapping[str, str], request: RunRequest) -> ExternalReport:
        reader = _RecordReader()
        for line in lines_of(files.get(STREAM_FILE, "")):
            reader.read(line)
        if self.has_second and not request.collect_only:
            reader.compare(self.passed_by_tool(files.get(SECOND_FILE, "")), self.spoken)
        report = reader.report(files.get(OUTPUT_FILE, ""))
        if request.collect_only:
            report.listed = [case.node_id for case in report.cases]
            report.cases = []
        return report

    def spoken(self, titles: Sequence[str]) -> str:
        """The titles of a test as the tool's own report has them."""
        return _spoken(titles)

    def passed_by_tool(self, text: str) -> Counter[str] | None:
        """How often tests passed by the tool's own report; None: there is none."""
        document = untrusted_json.json_object(text)
        if document is None:
            return None
        passed: Counter[str] = Counter()
        for file in untrusted_json.objects(document.get("testResults")):
            for test in untrusted_json.objects(file.get("assertionResults")):
                if test.get("status") == "passed":
                    above = test.get("ancestorTitles")
                    titles = [*above, test.get("title")] if isinstance(above, list) else []
                    passed[self.spoken(_titles(titles))] += 1
        return passed

    def name_in_source(self, node_id: NodeId) -> str:
        return _ORDINAL.sub("", name_in_file(node_id)).rpartition(_SEPARATOR)[2]

    def is_test_file(self, path: PurePosixPath) -> bool:
        return is_javascript_test(path)

    def protection(self, base: Iterable[PurePosixPath]) -> ProtectedFiles:
        return JavaScriptTestFiles(self._command.runner, base)

    def _reporter(self, sandbox: Sandbox, name: str) -> str:
        return str(sandbox.mounted(REPORTERS_MOUNT) / name)


class JestRunner(JavaScriptRunner):
    """jest."""

    def options(
        self, sandbox: Sandbox, request: RunRequest, results: PurePosixPath
    ) -> Iterator[str]:
        # The reporter removes what follows it from the arguments that tests can see.
        yield f"--reporters={self._reporter(sandbox, 'jest.cjs')}"
        yield from ("--reporters=default", "--json", f"--outputFile={results / SECOND_FILE}")
        # Thresholds of coverage would fail a run whose tests passed.
        yield from ("--ci", "--coverage=false", f"--bail={request.max_failures or 0}")
        if (pattern := _name_pattern(request, _whole_pattern)) is not None:
            yield f"--testNamePattern={pattern}"
        yield from (_path_pattern(sandbox, file) for file in _files_of(request.targets))


class VitestRunner(JavaScriptRunner):
    """vitest."""

    def options(
        self, sandbox: Sandbox, request: RunRequest, results: PurePosixPath
    ) -> Iterator[str]:
        yield f"--reporter={self._reporter(sandbox, 'vitest.mjs')}"
        yield from ("--reporter=default", "--reporter=json")
        yield f"--outputFile.json={results / SECOND_FILE}"
        yield from ("--watch=false", "--coverage.enabled=false")
        yield f"--bail={request.max_failures or 0}"
        if (pattern := _name_pattern(request, _whole_pattern)) is not None:
            yield f"--testNamePattern={pattern}"
        yield from (str(sandbox.workspace / file) for file in _files_of(request.targets))


class MochaRunner(JavaScriptRunner):
    """mocha. It has no second report: one reporter runs at a time."""

    has_second = False

    def command(
        self, sandbox: Sandbox, request: RunRequest, results: PurePosixPath
    ) -> Iterator[str]:
        if request.collect_only:
            yield from ("env", "AGENTBENCH_LIST=1")
        yield from super().command(sandbox, request, results)

    def options(
        self, sandbox: Sandbox, request: RunRequest, _results: PurePosixPath
    ) -> Iterator[str]:
        yield f"--reporter={self._reporter(sandbox, 'mocha.cjs')}"
        # A file that stays open would keep mocha from its end. Parallel runs report files as they
        # end.
        yield from ("--exit", "--no-parallel", "--no-color")
        # It has no number: it ends with the first failure, or with none.
        yield "--bail" if request.max_failures is not None else "--no-bail"
        if (
            not request.collect_only
            and (pattern := _name_pattern(request, _whole_pattern)) is not None
        ):
            yield f"--grep={pattern}"
        yield from _own_files(request)


class NodeRunner(JavaScriptRunner):
    """`node --test`."""

    can_list = False  # newer versions do not report tests that a pattern leaves out

    def command(
        self, sandbox: Sandbox, request: RunRequest, results: PurePosixPath
    ) -> Iterator[str]:
        words = list(self._command.words)
        options = list(self.options(sandbox, request, results))
        targets = _own_files(request)
        if targets:
            yield from ("sh", "-c", _NODE_TARGETS, "sh", str(len(targets)), *targets)
        if words[0] != "node":
            # A script of package.json: what follows it is for the tests.
            yield from ("env", f"NODE_OPTIONS={_node_options(options)}", *words)
            if words[0] == "npm" and targets and "--" not in words:
                yield "--"
            return
        words = list(_without_reporters(words))
        at = words.index("--test") + 1
        own = list(_trailing_files(words[at:]))
        rest = words[at : len(words) - len(own)]
        yield from (*words[:at], *options, *rest, *([] if targets else own))

    def options(
        self, sandbox: Sandbox, request: RunRequest, results: PurePosixPath
    ) -> Iterator[str]:
        for reporter, place in (
            (self._reporter(sandbox, "node.mjs"), "stdout"),
            ("tap", results / SECOND_FILE),
        ):
            yield from (f"--test-reporter={reporter}", f"--test-reporter-destination={place}")
        if (pattern := _name_pattern(request, _title_pattern)) is not None:
            yield f"--test-name-pattern={pattern}"

    def spoken(self, titles: Sequence[str]) -> str:
        return titles[-1] if titles else ""

    def passed_by_tool(self, text: str) -> Counter[str] | None:
        if not text:
            return None
        found = map(_TAP_OK.match, text.splitlines())
        return Counter(_untapped(line["title"]) for line in found if line is not None)


def _untapped(title: str) -> str:
    """A title as TAP prints it, without directives and escapes."""
    title = re.split(r" # (?:SKIP|TODO|time=)", title)[0]
    return _plain(re.sub(r"\\([#\\])", r"\1", title).replace("\\n", " "))


def _without_reporters(words: Iterable[str]) -> Iterator[str]:
    """The words of a command of node without its reporters, whose output nobody reads."""
    is_value = False
    for word in words:
        option, has_value, _ = word.partition("=")
        if option in {"--test-reporter", "--test-reporter-destination"}:
            is_value = not has_value
        elif is_value:
            is_value = False
        else:
            yield word


def _trailing_files(words: Sequence[str]) -> Iterator[str]:
    """The files at the end of a command of node."""
    for at in range(len(words)):
        # The word after an option may be its value, of which some look like files.
        is_value = at > 0 and words[at - 1].startswith("-") and "=" not in words[at - 1]
        if all(re.match(r"[^-]*[./*]", other) for other in words[at:]) and not is_value:
            yield from words[at:]
            return


def _files_of(targets: Iterable[str]) -> list[str]:
    """The files and folders of targets, each once."""
    files = (file_of(NodeId(each)) if is_node_id(each) else each for each in targets)
    return list(dict.fromkeys(file.rstrip("/") or "." for file in files))


def _own_files(request: RunRequest) -> list[str]:
    """The files and folders for a tool that takes each of them for tests, whatever its name is.

    A folder of a task may hold other files, too, so that a judged run has the tests of the command
    instead.
    """
    files = _files_of(request.targets)
    has_file = any(PurePosixPath(file).suffix in _SOURCES for file in files)
    return files if has_file or not request.judged else []


def _path_pattern(sandbox: Sandbox, file: str) -> str:
    """The pattern of jest for the absolute paths of a file, or of those in a folder."""
    path = sandbox.workspace / file
    return f"^{_escaped(str(path))}{'$' if path.suffix in _SOURCES else '(/|$)'}"


def _name_pattern(request: RunRequest, pattern_of: Callable[[Iterable[str]], str]) -> str | None:
    """The pattern for the names of the tests to run; None: all of them."""
    if request.collect_only:
        return _NO_TEST
    ids = [NodeId(each) for each in request.targets if is_node_id(each)]
    # Beside a whole file, a pattern would leave out its tests.
    names = [name_in_file(each) for each in ids] if len(ids) == len(request.targets) else []
    # An ordinal may also be a part of the title.
    names += [_ORDINAL.sub("", name) for name in names]
    wanted = pattern_of(dict.fromkeys(names)) if names else ""
    if request.keyword is None:
        return wanted or None
    return f"(?=.*(?:{request.keyword})){wanted}"


def _whole_pattern(names: Iterable[str]) -> str:
    """The pattern for tests by all their titles, which these tools join with blanks."""
    found = (
        r"\s+".join(map(_escaped, name.split())).replace(r"\s+>\s+", r"(?:\s+>)?\s+")
        for name in names
    )
    return rf"^\s*(?:{'|'.join(found)})\s*$"


def _title_pattern(names: Iterable[str]) -> str:
    """The pattern for tests and those around them by their own titles."""
    titles = dict.fromkeys(title for name in names for title in name.split(_SEPARATOR))
    found = (r"\s+".join(map(_escaped, title.split())) for title in titles)
    return rf"^\s*(?:{'|'.join(found)})\s*$"


def _escaped(text: str) -> str:
    return re.sub(r"[.*+?^${}()|\[\]\\/]", r"\\\g<0>", text)


def _node_options(options: Iterable[str]) -> str:
    """Options for the variable NODE_OPTIONS."""
    quoted = (re.sub(r"[\\\"]", r"\\\g<0>", option) for option in options)
    return " ".join(f'"{option}"' for option in quoted)


def _plain(title: str) -> str:
    return " ".join(_SPACES.sub(" ", title).split())


def _titles(value: object) -> tuple[str, ...]:
    titles = value if isinstance(value, list) else []
    return tuple(_plain(untrusted_json.text(title, 4096)) for title in titles[:100])


def _spoken(titles: Iterable[str]) -> str:
    return " ".join(filter(None, titles))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    """One result in a stream."""

    file: str
    project: str  # of the tool: it may run one file in several
    titles: tuple[str, ...]
    outcome: CaseOutcome
    seconds: float = 0.0
    message: str = ""
    stack: str = ""

    @classmethod
    def read(cls, record: JsonObject) -> "_Test":
        message, stack = _message(record), untrusted_json.text(record.get("stack"))
        retries = untrusted_json.count(record.get("retries")) or 0
        outcome = _STATUSES.get(str(record.get("status")), CaseOutcome.UNFINISHED)
        if outcome is CaseOutcome.PASSED:
            message = f"passed on try {retries + 1}" if retries else ""
        return cls(
            file=untrusted_json.text(record.get("file"), 4096),
            project=untrusted_json.text(record.get("project"), 200),
            titles=_titles(record.get("titles")),
            outcome=outcome,
            seconds=untrusted_json.seconds(record.get("ms")) / 1000,
            message=message,
            stack=stack,
        )

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        return self.file, self.project, self.titles


def _message(record: JsonObject) -> str:
    """What went wrong, in one line that begins with the class of the error."""
    message = untrusted_json.text(record.get("message")) or untrusted_json.text(record.get("stack"))
    # The output of a process says more than that it failed.
    printed = _ERROR_LINE.search(untrusted_json.text(record.get("text")))
    if printed is not None and (not message or message == "test failed"):
        return " ".join(printed[0].split())[:300]
    error = untrusted_json.text(record.get("error"), 200)
    line = " ".join(re.split(r"\n\s+at ", message)[0].split())[:300]
    return f"{error}: {line}" if error and not line.startswith(error) else line


class _RecordReader:
    """Reads the records of one run."""

    def __init__(self) -> None:
        self._report = ExternalReport(source=ReportSource.JSON_REPORT)
        self._tests: list[_Test] = []
        self._unfinished: dict[tuple[str, str, tuple[str, ...]], _Test] = {}
        """What is known of tests whose file has not ended."""
        self._expected = 0
        self._root = ""
        self._is_forged = False

    def read(self, line: str) -> None:
        record = untrusted_json.json_object(line) if len(line) <= LINE_LIMIT else None
        if record is None:  # a killed process leaves a truncated last line
            self._is_forged = self._is_forged or line.endswith("\n")
            return
        is_next = type(record.get("n")) is int and record["n"] == self._expected
        self._is_forged = self._is_forged or not is_next or self._report.finished
        self._expected += 1
        match record.get("kind"):
            case "load":
                self._root = untrusted_json.text(record.get("root"), 4096)
            case "start":
                self._report.started = True
            case "begin":
                test = replace(_Test.read(record), outcome=CaseOutcome.UNFINISHED)
                self._unfinished[test.key] = test
            case "case":
                test = _Test.read(record)
                self._unfinished[test.key] = test
            case "test":
                self._tests.append(_Test.read(record))
            case "late":
                self._late(record)
            case "error":
                self._error(record)
            case "end":
                self._report.finished = True
            case _:
                self._is_forged = True

    def _late(self, record: JsonObject) -> None:
        """A failure after a test's end, such as that of a tear-down, is the last test's."""
        file, message = untrusted_json.text(record.get("file"), 4096), _message(record)
        for at in reversed(range(len(self._tests))):
            if file and self._tests[at].file == file:
                if self._tests[at].outcome not in FAILING_OUTCOMES:
                    stack = untrusted_json.text(record.get("stack"))
                    self._tests[at] = replace(
                        self._tests[at], outcome=CaseOutcome.ERROR, message=message, stack=stack
                    )
                return
        if file:
            self._error(record)
        self._report.detail = self._report.detail or message[:300]

    def _error(self, record: JsonObject) -> None:
        file = untrusted_json.text(record.get("file"), 4096)
        message, error = _message(record), untrusted_json.text(record.get("error"), 200)
        texts = (untrusted_json.text(record.get(key)) for key in ("stack", "text", "message"))
        line = re.search(rf"{re.escape(file)}:(\d{{1,9}})", "\n".join(texts))
        self._report.add_error(file, int(line[1]) if line else None, message, error)

    def compare(self, passed: Counter[str] | None, spoken: Callable[[Sequence[str]], str]) -> None:
        """Take back each passed test that the tool's own report does not have."""
        report = self._report
        if not report.finished or not self._tests:
            return
        if passed is None:
            report.finished = False
            report.detail = report.detail or "the tool's own report is missing"
            return
        left = passed.copy()
        for at, test in enumerate(self._tests):
            if test.outcome is not CaseOutcome.PASSED:
                continue
            left[spoken(test.titles)] -= 1
            if left[spoken(test.titles)] < 0:
                report.forged.append("the tool's own report")
                self._tests[at] = replace(test, outcome=CaseOutcome.UNFINISHED)

    def report(self, output: str) -> ExternalReport:
        report = self._report
        if self._is_forged:
            report.forged.append(FORGED)
        ended = {test.file for test in self._tests}
        self._tests += [test for test in self._unfinished.values() if test.file not in ended]
        report.cases = list(_cases(self._tests))
        if not report.cases and not report.errors:
            self._without_tests(output)
        return report

    def _without_tests(self, output: str) -> None:
        """A tool that stops before its reporter begins says why on its output."""
        report = self._report
        if _NO_TESTS.search(output):
            report.started = report.finished = True
            return
        error = _ERROR_LINE.search(output)
        if error is not None:
            report.detail = " ".join(error[0].split())[:300]
        if report.started or not self._root:
            return
        # Mocha: the first file of the project that is named is the one that could not be loaded.
        for place in re.finditer(rf"{re.escape(self._root)}/([^\s:()'\"]+)", output):
            file = place[1]
            if "node_modules" not in file and PurePosixPath(file).suffix in _SOURCES:
                line = re.search(rf"/{re.escape(file)}:(\d{{1,9}})", output)
                message = report.detail or "it could not be loaded"
                report.add_error(file, int(line[1]) if line else None, message)
                return


def _cases(tests: Iterable[_Test]) -> Iterator[CaseResult]:
    """The results of tests, with ids that are equal in each run."""
    tests = list(tests)
    projects: dict[str, set[str]] = {}
    for test in tests:
        projects.setdefault(test.file, set()).add(test.project)
    counts: Counter[tuple[str, str]] = Counter()
    for test in tests:
        name = _SEPARATOR.join(test.titles)
        if len(projects[test.file]) > 1 and test.project:
            name = f"{name} [{test.project}]"
        counts[test.file, name] += 1
        number = counts[test.file, name]
        node_id = node_id_of(test.file, name if number == 1 else f"{name} #{number}")
        joined = _SEPARATOR.join(test.titles)
        yield CaseResult(
            node_id=node_id,
            outcome=test.outcome,
            duration=test.seconds,
            message=test.message or None,
            traceback=(test.stack or None) if test.outcome in FAILING_OUTCOMES else None,
            # As the tools print them: in a tree, in one line, and in TAP; vitest adds the file.
            names=tuple(
                dict.fromkeys(
                    (_spoken(test.titles), *test.titles[-1:], joined, f"{test.file} > {joined}")
                )
            ),
        )
