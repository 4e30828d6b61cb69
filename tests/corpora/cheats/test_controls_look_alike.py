"""Nothing that code under test can read tells a control run from the final test."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from pathlib import PurePosixPath as P

import pytest

from agentbench.attempt.judged_tests import JudgedRuns
from agentbench.core.files import FileContent
from agentbench.integrity.control_plan import ControlledTests
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.sealing.memory import SealedReference
from agentbench.integrity.sealing.plan import SealedPlan
from agentbench.sandbox.interface import EngineProvider, SandboxProvider
from agentbench.sandbox.registry import select_back_end
from agentbench.scoring.evidence import Evidence, NodeId
from agentbench.tasks.control_level import ControlLevel
from tests.e2e.small_task import FIXED, HIDDEN, LISTED, VISIBLE
from tests.fakes.staging import Desk, StagedAttempt, go, prepare, small_task, staged

OTHER = "import basket\n\n\ndef test_of_another_file():\n    assert basket.cheapest([1]) == 1\n"
OLD = "import basket\n\n\ndef test_old():\n    assert basket.total([2, 3]) == 5\n"
MARK = "what the spy saw: "
SPY = r'''
import atexit, gc, json, os, resource, select, signal, sys, threading

MARK = "%s"
_SEEN, _TESTS = {}, []


def _text(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace").replace("\0", " ")
    except OSError as error:
        return type(error).__name__


def _object(kind):
    """An object of pytest's: code under test may look for one."""
    return next(one for one in gc.get_objects() if type(one).__name__ == kind)


def _plain(value):
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if isinstance(value, (str, int, float, type(None))) else type(value).__name__


def _descriptors():
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            status = os.fstat(int(name))
            target = os.readlink("/proc/self/fd/" + name)
        except OSError:
            continue
        found[name] = [target, oct(status.st_mode), os.isatty(int(name))]
    return found


def _files(top):
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            when = 0 if ".git" in path or name in folders else status.st_mtime_ns
            found[path] = [oct(status.st_mode), status.st_uid, status.st_nlink, when]
            if name in files:
                found[path].append(status.st_size)
    return found


def _family(process):
    """Who a process is related to: its parent, group, session and children. Numbers are random."""
    names = {0: "outside", os.getpid(): "self", os.getppid(): "parent"}
    fields = _text("/proc/%%d/stat" %% process).rpartition(")")[2].split()[1:6]
    children = _text("/proc/%%d/task/%%d/children" %% (process, process)).split()
    return [[names.get(int(one), "other") for one in many] for many in (fields, children)]


def _processes():
    found = [one for one in os.listdir("/proc") if one.isdigit()]
    return sorted(_text("/proc/" + one + "/cmdline") for one in found)


def _look(private):
    config, session = _object("Config"), _object("Session")
    manager = config.pluginmanager
    junit = config.option.xmlpath
    seen = {
        "arguments": [sys.argv, sys.orig_argv, sys.executable, sys.path, sys.warnoptions],
        "flags": [str(sys.flags), sorted(sys._xoptions)],
        "modules": sorted(sys.modules),
        "environment": {
            name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"
        },
        "command lines": [_text("/proc/self/cmdline"), _text("/proc/%%d/cmdline" %% os.getppid())],
        "first environment": _text("/proc/self/environ"),
        "limits": _text("/proc/self/limits"),
        "descriptors": _descriptors(),
        "input": [os.isatty(0), select.select([0], [], [], 0)[0], os.read(0, 1).decode()],
        "family": [_family(os.getpid()), _family(os.getppid())],
        "folder": [os.getcwd(), sorted(os.listdir("/")), private and sorted(os.listdir("/tmp"))],
        "files": _files("."),
        "results": sorted(_files(os.path.dirname(os.path.dirname(junit)))),
        "user": [os.getuid(), os.getgroups(), os.getpriority(os.PRIO_PROCESS, 0)],
        "processors": sorted(os.sched_getaffinity(0)),
        "signals": [str(signal.getsignal(one)) for one in sorted(signal.valid_signals())],
        "timers": [signal.getitimer(one) for one in (0, 1, 2)],
        "threads": [one.name for one in threading.enumerate()],
        "tracing": [str(sys.gettrace()), str(sys.getprofile())],
        "options": _plain(vars(config.option)),
        "invocation": [list(map(str, config.invocation_params.args)), config.args],
        "settings": [str(config.rootpath), str(config.inipath), _plain(dict(config.inicfg))],
        "plugins": sorted(str(name) for name, plugin in manager.list_name_plugin() if plugin),
        "items": [item.nodeid for item in session.items],
        "session": [session.testsfailed, str(session.shouldstop), str(session.shouldfail)],
    }
    if private:
        seen["processes"] = _processes()
    return seen


def _spy():
    _TESTS.append(os.environ.get("PYTEST_CURRENT_TEST"))
    if not _SEEN:
        _SEEN.update(_look(%r))
        atexit.register(_tell)


def _tell():
    os.write(1, (MARK + json.dumps({**_SEEN, "tests": _TESTS})).encode())


class _Spying:
    def __init__(self, function):
        self._function = function

    def __call__(self, prices):
        _spy()
        return self._function(prices)


total, cheapest = _Spying(total), _Spying(cheapest)
'''
RANDOM = (
    (r"[0-9a-f]{32}", "<folder of the results>"),
    (r"[0-9a-f]{16}", "<mark>"),
    (r"(pipe|socket):\[\d+\]", "<stream>"),
    (r"/#\d+ \(deleted\)", "/<capture>"),
    (r"agentbench-(bubblewrap|process)-\w+", "<sandbox>"),
    (
        r"(--args|--json-status-fd|--block-fd|--seccomp|--file|keeper\.py|subreaper\.py) \d+",
        r"\1 <descriptor>",
    ),
    (r"^\d{12,}$", "<address>"),
)
"""What is random in every run, the final test's as well."""


@pytest.fixture(
    params=[
        "bubblewrap",
        pytest.param("process", marks=pytest.mark.soak),  # one without walls
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("docker, shared", marks=pytest.mark.docker),
    ]
)
def back_end(request: pytest.FixtureRequest, cache_dir: Path) -> SandboxProvider:
    if request.param == "process":
        return select_back_end("process", cache_dir=cache_dir).provider
    provider: SandboxProvider = request.getfixturevalue(request.param.partition(",")[0])
    return provider


@pytest.fixture
def attempt(
    back_end: SandboxProvider, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[StagedAttempt, Desk]]:
    """An attempt whose agent left a spy; its command stops early, as some projects' do."""
    files = {
        "basket.py": "def total(prices): return 0\ndef cheapest(prices): return min(prices)\n",
        "tests/test_basket.py": VISIBLE,
        "tests/test_old.py": OLD,
        "tests/other/test_other.py": OTHER,
    }
    task = small_task(
        tmp_path / "small",
        files=files,
        fail_to_pass=(*LISTED, "tests/test_old.py::test_old"),
        tests='pass_to_pass = "baseline"\ncommand = "python -m pytest -x -q"\n',
    )
    (tmp_path / "desk").mkdir()
    desk = Desk(tmp_path / "desk")
    with staged(task, back_end, desk) as context:
        prepare(context)
        if "shared" in request.node.name:
            assert isinstance(context.provider, EngineProvider)
            context.provider = context.provider.sharing_containers(context.background)
        context.baseline = go(context, "baseline_run")
        spy = SPY % (MARK, back_end.name != "process")
        file = FileContent(content=(FIXED + spy).encode(), executable=False)
        context.change = JudgedChange(files={P("basket.py"): file}, emptied=(), dropped=())
        yield context, desk


def final(context: StagedAttempt, desk: Desk) -> dict[str, object]:
    """What the spy sees in the final test."""
    context.control(ControlLevel.SAMPLE)
    evidence = go(context, "final_test")
    assert evidence.report is not None
    assert evidence.report.failed == 0, desk.read("final.json")
    return seen_in(json.loads(desk.read("final.json"))["text_output"])


FILES = {"tests/test_hidden.py": HIDDEN.encode(), "tests/test_old.py": OLD.encode()}


def control(context: StagedAttempt, files: Mapping[str, bytes] = FILES) -> dict[str, object]:
    """What it sees in a control run, in which, by way of exception, nothing wrong is expected."""
    runs = JudgedRuns(
        context=context.ready, baseline=context.baseline or Evidence(), change=context.change
    )
    return seen_in(runs.rewritten(files, context.ready.judging_lock()).result.text_output)


def sealed(context: StagedAttempt) -> dict[str, object]:
    """What it sees in the sealed run."""
    fixed = (*LISTED, NodeId("tests/test_old.py::test_old"))
    tests = ControlledTests(files=FILES, fixed=fixed, passing=())
    plan = SealedPlan(tests, 1, SealedReference())
    assert plan.files.keys() == FILES.keys()
    return control(context, plan.files)


def without_texts(seen: dict[str, object]) -> dict[str, object]:
    """What was seen without the sizes of the sealed files and the names of tests."""
    counts = {name: len(list(seen[name])) for name in ("items", "tests")}  # type: ignore[call-overload]
    files = {
        path: facts[:-1] if path.removeprefix("./") in FILES else facts
        for path, facts in dict(seen["files"]).items()  # type: ignore[call-overload]
    }
    return {**seen, **counts, "files": files}


def seen_in(output: str) -> dict[str, object]:
    """What the spy wrote down, random names replaced."""
    assert MARK in output, output
    seen, _ = json.JSONDecoder().raw_decode(output.partition(MARK)[2])
    known = without_random_names(seen, Path(seen["folder"][0]))
    assert isinstance(known, dict)
    return known


def without_random_names(value: object, workspace: Path) -> object:
    if isinstance(value, list):
        return [without_random_names(one, workspace) for one in value]
    if isinstance(value, dict):
        items = value.items()
        return {
            without_random_names(name, workspace): without_random_names(one, workspace)
            for name, one in items
        }
    if not isinstance(value, str):
        return value
    text = value.replace(str(workspace.parent), "<sandbox>") if len(workspace.parts) > 2 else value
    for pattern, name in RANDOM:
        text = re.sub(pattern, name, text)
    return text


def test_a_spy_sees_the_same_in_a_control_run_and_in_the_final_test(
    attempt: tuple[StagedAttempt, Desk],
) -> None:
    context, desk = attempt
    first, again = final(context, desk), final(context, desk)
    assert first == again, "some value is random in every run"

    assert control(context) == first
    assert without_texts(sealed(context)) == without_texts(first)
