"""Runs pytest inside a sandbox so that the project cannot stand in for pytest or the reporters.

    python -I -B launch.py --results DIR --jsonreport DIR [--as-module] -- ARGS...

Isolated mode keeps the working folder and PYTHONPATH off `sys.path` until pytest, its own plugins
and both reporters are imported; then the path becomes what a plain run would have had. Standard
library only; runs on Python 3.6 to 3.14.
"""

import argparse
import gc
import importlib
import importlib.util
import json
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

EXIT_SPAWN = 96  # there is no pytest to run; a `spawn` record says why
_WITHHELD = "AGENTBENCH_WITHHELD_ENV"
_WANTS_RESTART = (
    "PYTHONDEVMODE", "PYTHONFAULTHANDLER", "PYTHONHASHSEED", "PYTHONINTMAXSTRDIGITS",
    "PYTHONIOENCODING", "PYTHONOPTIMIZE", "PYTHONUTF8", "PYTHONWARNINGS",
)  # fmt: skip


class RecordStream:
    """JSON lines in a file that did not exist before; each one is on disk before the next step."""

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

    def put(self, kind: str, **fields: object) -> None:
        """Append one record; a fork of this process stays silent, a full disk too."""
        if self._getpid() != self._owner:
            return
        fields["kind"], fields["n"] = kind, self._count
        line = (self._dumps(fields) + "\n").encode("ascii")
        try:
            self._ensure_open()
            while line:
                line = line[self._write(self._fd, line) :]
        except OSError:
            return
        self._count += 1

    def _identify(self, fd: int) -> "tuple[int, int]":
        status = self._fstat(fd)
        return status.st_dev, status.st_ino

    def _ensure_open(self) -> None:
        """Open the file again when the project closed our descriptor (daemons close them all)."""
        try:
            if self._identify(self._fd) == self._identity:
                return
        except OSError:
            pass
        self._fd = os.open(self._path, self._flags)
        if self._identify(self._fd) != self._identity:
            raise OSError("the stream was replaced")


def main() -> int:
    """Run pytest and return its exit code."""
    gc.disable()  # nothing of what is imported here is garbage: looking takes a fifth of it all
    options = _options()
    _restart_with_interpreter_settings()
    if not sys.flags.isolated:
        del sys.path[0]  # this file's folder
    options.results.mkdir(parents=True)
    stream = RecordStream(options.results / "stream.jsonl")
    try:
        pytest = _import_pytest()
    except ImportError as error:
        stream.put("spawn", error=f"{type(error).__name__}: {error}")
        sys.stderr.write(f"agentbench: pytest cannot be imported: {error}\n")
        return EXIT_SPAWN
    reporter = _load("agentbench_reporter", Path(__file__).with_name("agentbench_reporter.py"))
    _load("pytest_jsonreport", options.jsonreport / "__init__.py")
    json_report = importlib.import_module("pytest_jsonreport.plugin")
    _leave_unwritten("pytest_jsonreport")
    stream.put(
        "start",
        format=1,
        pytest=pytest.__version__,
        python="{}.{}.{}".format(*sys.version_info[:3]),
        in_project=_in_project(str(pytest.__file__)),
        root=str(Path.cwd()),
    )
    _restore_paths(pytest, as_module=options.as_module)
    sys.argv[1:] = options.args
    _collect_as_usual()
    watcher = reporter.Reporter(stream, json_report, str(options.results / "report.json"))
    code = int(pytest.main(options.args, plugins=[watcher]))
    stream.put("exit", code=code)
    return code


def _leave_unwritten(package: str) -> None:
    """Have pytest not warn that it cannot rewrite a package's asserts, since it is imported.

    It would where the project has that plug-in installed itself, and many projects turn warnings
    into errors. The word in the docstring is pytest's own way of saying so.
    """
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package:
            module.__doc__ = "{}\n\nPYTEST_DONT_REWRITE".format(module.__doc__ or "")


def _collect_as_usual() -> None:
    """Let the project's garbage be collected, and pytest's own modules be left alone."""
    if hasattr(gc, "freeze"):  # not in PyPy
        gc.freeze()
    gc.enable()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--jsonreport", type=Path, required=True)
    parser.add_argument("--as-module", action="store_true")
    end = sys.argv.index("--")
    options = parser.parse_args(sys.argv[1:end])
    options.args = sys.argv[end + 1 :]
    return options


def _restart_with_interpreter_settings() -> None:
    """Start again when the task sets what an interpreter reads at its start and `-I` ignores.

    The rest of PYTHON*, which could change what is imported, waits until pytest is there.
    """
    if _WITHHELD in os.environ:
        os.environ.update(json.loads(os.environ.pop(_WITHHELD)))
    elif any(name in os.environ for name in _WANTS_RESTART):
        env = dict(os.environ)
        withheld = [key for key in env if key.startswith("PYTHON") and key not in _WANTS_RESTART]
        env[_WITHHELD] = json.dumps({key: env.pop(key) for key in withheld})
        os.execve(sys.executable, [sys.executable, "-s", "-B", *sys.argv], env)


def _import_pytest() -> ModuleType:
    """Import pytest and its plugins from the environment, from the project only if it is pytest."""
    path = list(sys.path)
    sys.path[:] = [entry for entry in path if not _in_project(entry)]
    try:
        if importlib.util.find_spec("pytest") is None:
            sys.path[:] = path
        pytest = importlib.import_module("pytest")
        config = importlib.import_module("_pytest.config")
        for name in config.default_plugins:
            importlib.import_module("_pytest." + name)
    finally:
        sys.path[:] = path
    return pytest


def _in_project(path: str) -> bool:
    """Whether a path lies in the working folder, a virtual environment in it aside."""
    resolved = Path(path).resolve()
    project = Path.cwd().resolve()
    lineage = (resolved, *resolved.parents)
    return project in lineage and Path(sys.prefix).resolve() not in lineage


def _load(name: str, path: Path) -> ModuleType:
    """Import a file or package from exactly this place."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _restore_paths(pytest: ModuleType, *, as_module: bool) -> None:
    """Give `sys.path` and `sys.argv[0]` the values of `python -m pytest` or of `pytest`."""
    scripts = Path(sysconfig.get_path("scripts"))
    python_path = os.environ.get("PYTHONPATH", "")
    extra = (
        [str(Path.cwd() / entry) for entry in python_path.split(os.pathsep)] if python_path else []
    )
    sys.path[:0] = [str(Path.cwd() if as_module else scripts), *extra]
    main = Path(str(pytest.__file__)).with_name("__main__.py")
    program = main if as_module else scripts / "pytest"
    sys.argv[0] = str(program)


if __name__ == "__main__":
    sys.exit(main())
