"""Runs tests inside a sandbox so that the project cannot stand in for the runner or the reporters.

    python -I -B launch.py --results DIR --jsonreport DIR [--as-module] [--judged]
        [--target PATH]... -- ARGS...
    python -I -B launch.py --results DIR --runner unittest [--target FILE]... -- OPTIONS...
    python -I -B launch.py --results DIR --runner django --script FILE [--target FILE]... -- ...

Isolated mode keeps the working folder and PYTHONPATH off `sys.path` until the runner, its own
plugins and the reporters are imported; then the path becomes what a plain run would have had.
Standard library only; runs on Python 3.6 to 3.14.
"""

import argparse
import importlib
import importlib.util
import json
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

EXIT_SPAWN = 96  # there is no pytest to run; a `spawn` record says why
_TEXTS, _TEXT_LIMIT = ("message", "traceback", "xfail"), 40000  # characters
_WITHHELD = "AGENTBENCH_WITHHELD_ENV"
_WANTS_RESTART = (
    "PYTHONDEVMODE", "PYTHONFAULTHANDLER", "PYTHONHASHSEED", "PYTHONINTMAXSTRDIGITS",
    "PYTHONIOENCODING", "PYTHONOPTIMIZE", "PYTHONUTF8", "PYTHONWARNINGS",
)  # fmt: skip


class RecordStream:
    """JSON lines in a file that did not exist before; each one is on disk before the next step.

    Of long texts it keeps the head and the tail.
    """

    def __init__(self, path: Path) -> None:
        # Kept from before the project's code ran: a test may well patch os.
        self._write, self._getpid, self._fstat = os.write, os.getpid, os.fstat
        self._dumps = json.dumps
        self._path = path
        self._flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._fd = os.open(path, self._flags | os.O_CREAT | os.O_EXCL, 0o600)
        self._identity = self._identify(self._fd)
        self._owner = os.getpid()
        self._count = 0

    def put(self, kind: str, **fields: object) -> int:
        """Append one record and return its bytes; a fork stays silent, a full disk too."""
        if self._getpid() != self._owner:
            return 0
        for name in _TEXTS:
            text = fields.get(name)
            if isinstance(text, str) and len(text) > _TEXT_LIMIT:
                half = _TEXT_LIMIT // 2
                note = f"[... {len(text) - 2 * half} characters left out ...]"
                fields[name] = f"{text[:half]}\n{note}\n{text[-half:]}"
        fields["kind"], fields["n"] = kind, self._count
        line = (self._dumps(fields) + "\n").encode("ascii")
        size = len(line)
        try:
            # The project may have closed our descriptor: daemons close them all.
            try:
                is_open = self._identify(self._fd) == self._identity
            except OSError:
                is_open = False
            if not is_open:
                self._fd = os.open(self._path, self._flags)
                if self._identify(self._fd) != self._identity:
                    return 0  # the stream was replaced
            while line:
                line = line[self._write(self._fd, line) :]
        except OSError:
            return 0
        self._count += 1
        return size

    def _identify(self, fd: int) -> "tuple[int, int]":
        status = self._fstat(fd)
        return status.st_dev, status.st_ino


class WatchedFunction:
    """One function of a runner: the class it belongs to, the attribute, and its code."""

    def __init__(self, module: "ModuleType", dotted: str) -> None:
        self.label = f"{module.__name__}.{dotted}"
        self._module = vars(module)
        self._owner_name, _, self._name = dotted.rpartition(".")
        self._owner = self._module.get(self._owner_name)
        self._value = self._look_up()
        self.exists = self._value is not None  # in this version of the runner
        self._function = getattr(self._value, "__func__", None) or self._value
        self._function = getattr(self._function, "fget", None) or self._function
        self._code = getattr(self._function, "__code__", None)

    def changed(self) -> bool:
        """Whether another object stands in its place by now, or other code in the object."""
        if self._owner_name and self._module.get(self._owner_name) is not self._owner:
            return True
        has_its_code = getattr(self._function, "__code__", None) is self._code
        return self._look_up() is not self._value or not has_its_code

    def _look_up(self) -> object:
        if not self._owner_name:
            return self._module.get(self._name)
        return None if self._owner is None else vars(self._owner).get(self._name)


class ChangeDetector:
    """Reports the functions that a report rests on and that the project has replaced."""

    def __init__(
        self, stream: RecordStream, table: "tuple[tuple[str, tuple[str, ...]], ...]"
    ) -> None:
        self._put = stream.put
        self._watched = []
        for module_name, names in table:
            try:
                module = importlib.import_module(module_name)
            except ImportError:
                continue  # of another version
            self._watched += [WatchedFunction(module, dotted) for dotted in names]
        self._watched = [function for function in self._watched if function.exists]

    def detect(self) -> None:
        """Report each change once."""
        changed = [function for function in self._watched if function.changed()]
        if changed:
            self._put("changed", names=[function.label for function in changed])
            self._watched = [function for function in self._watched if function not in changed]


def main() -> int:
    """Run the tests and return the exit code, as pytest means it."""
    options = _options()
    _restart_with_interpreter_settings()
    if not sys.flags.isolated:
        del sys.path[0]  # this file's folder
    missing = _import_runner(options)
    options.results.mkdir(parents=True)
    stream = RecordStream(options.results / "stream.jsonl")
    recordings = RecordStream(options.results / "recordings.jsonl")
    sys.modules["agentbench_recorder"].open_recordings(recordings)
    if missing is not None:
        stream.put("spawn", error=f"{type(missing).__name__}: {missing}")
        sys.stderr.write(f"agentbench: pytest cannot be imported: {missing}\n")
        code = EXIT_SPAWN
    else:
        code = (_run_pytest if options.runner == "pytest" else _run_unittest)(options, stream)
    stream.put("exit", code=code)
    return code


def _import_runner(options: argparse.Namespace) -> "ImportError | None":
    # Each imports only those before it.
    _import_ours("time_limits", "canonical_readers", "canonical_bounds", "canonical", "recorder")
    if options.runner != "pytest":
        _import_ours("unittest_loading", "unittest")
        return None
    try:
        _import_pytest()
    except ImportError as error:
        return error
    _import_ours("reporter")
    _load("pytest_jsonreport", options.jsonreport / "__init__.py")
    importlib.import_module("pytest_jsonreport.plugin")
    # pytest warns that it cannot rewrite the asserts of a plug-in that is imported already. It
    # would do so where the project has that plug-in installed itself, and many projects turn
    # warnings into errors. The word in the docstring is pytest's own way of saying so.
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "pytest_jsonreport":
            module.__doc__ = "{}\n\nPYTEST_DONT_REWRITE".format(module.__doc__ or "")
    return None


def _run_pytest(options: argparse.Namespace, stream: RecordStream) -> int:
    pytest, reporter = sys.modules["pytest"], sys.modules["agentbench_reporter"]
    json_report = sys.modules["pytest_jsonreport.plugin"]
    _put_start(stream, pytest=pytest.__version__, in_project=_in_project(str(pytest.__file__)))
    main = Path(str(pytest.__file__)).with_name("__main__.py")
    scripts = Path(sysconfig.get_path("scripts"))
    if options.as_module:
        _restore_paths(Path.cwd(), main)
    else:
        _restore_paths(scripts, scripts / "pytest")
    sys.argv[1:] = options.args
    detector = ChangeDetector(stream, reporter.WATCHED_FUNCTIONS)
    watcher = reporter.Reporter(
        stream, json_report, str(options.results), detector, runs_every_test=options.judged
    )
    targets = options.target
    if options.judged:
        # The order in which pytest collects them from their common folder: tests that depend on
        # earlier ones pass there. Before pytest 8, a folder's files come before its folders.
        is_joint = int(pytest.__version__.partition(".")[0]) >= 8

        def collection_key(target: str) -> "list[tuple[bool, str]]":
            path = Path(target)
            folders = [(not is_joint, part) for part in path.parts[:-1]]
            return [*folders, (not is_joint and path.is_dir(), path.name)]

        targets = sorted(targets, key=collection_key)
    return int(pytest.main([*options.args, *targets], plugins=[watcher]))


def _run_unittest(options: argparse.Namespace, stream: RecordStream) -> int:
    reporter = sys.modules["agentbench_unittest"]
    _put_start(stream, runner=options.runner)
    watcher = reporter.Reporter(
        stream, max_failures=options.max_failures, collect_only=options.collect_only
    )
    watcher.detect_changes = ChangeDetector(stream, reporter.WATCHED_FUNCTIONS).detect
    if options.runner == "django":
        script = Path.cwd() / options.script
        _restore_paths(script.parent, Path(options.script))
        return int(watcher.run_script(options.script, options.args, options.target))
    _restore_paths(Path.cwd(), Path(str(reporter.unittest.__file__)).with_name("__main__.py"))
    loading = sys.modules["agentbench_unittest_loading"]
    loader = loading.TargetLoader(options.target, watcher.collect_error, watcher.collect_skip)
    return int(watcher.run_unittest(options.args, loader))


def _put_start(stream: RecordStream, **fields: object) -> None:
    python = "{}.{}.{}".format(*sys.version_info[:3])
    stream.put("start", format=1, python=python, root=str(Path.cwd()), **fields)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--jsonreport", type=Path)
    parser.add_argument("--as-module", action="store_true")
    parser.add_argument("--judged", action="store_true")
    parser.add_argument("--runner", default="pytest")
    parser.add_argument("--script")
    parser.add_argument("--target", action="append", default=[])
    parser.add_argument("--max-failures", type=int, default=0)
    parser.add_argument("--collect-only", action="store_true")
    end = sys.argv.index("--")
    options = parser.parse_args(sys.argv[1:end])
    options.args = sys.argv[end + 1 :]
    return options


def _restart_with_interpreter_settings() -> None:
    # The interpreter reads these at its start only, and `-I` ignores them. The rest of PYTHON*,
    # which could change what is imported, waits until the runner is imported.
    if _WITHHELD in os.environ:
        os.environ.update(json.loads(os.environ.pop(_WITHHELD)))
    elif any(name in os.environ for name in _WANTS_RESTART):
        env = dict(os.environ)
        withheld = [key for key in env if key.startswith("PYTHON") and key not in _WANTS_RESTART]
        env[_WITHHELD] = json.dumps({key: env.pop(key) for key in withheld})
        os.execve(sys.executable, [sys.executable, "-s", "-B", *sys.argv], env)


def _import_pytest() -> None:
    # From the environment, so that the project cannot stand in for pytest; from the project only if
    # it is pytest itself.
    path = list(sys.path)
    sys.path[:] = [entry for entry in path if not _in_project(entry)]
    try:
        if importlib.util.find_spec("pytest") is None:
            sys.path[:] = path
        importlib.import_module("pytest")
        config = importlib.import_module("_pytest.config")
        for name in config.default_plugins:
            importlib.import_module("_pytest." + name)
    finally:
        sys.path[:] = path


def _in_project(path: str) -> bool:
    # A virtual environment in the working folder is not a part of the project.
    resolved = Path(path).resolve()
    project = Path.cwd().resolve()
    lineage = (resolved, *resolved.parents)
    return project in lineage and Path(sys.prefix).resolve() not in lineage


def _import_ours(*names: str) -> None:
    for name in names:
        _load(f"agentbench_{name}", Path(__file__).with_name(f"agentbench_{name}.py"))


def _load(name: str, path: Path) -> None:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _restore_paths(first: Path, program: Path) -> None:
    python_path = os.environ.get("PYTHONPATH", "")
    extra = (
        [str(Path.cwd() / entry) for entry in python_path.split(os.pathsep)] if python_path else []
    )
    sys.path[:0] = [str(first), *extra]
    sys.argv[0] = str(program)


if __name__ == "__main__":
    sys.exit(main())
