"""Tests of unittest: how files become tests, and the names that tests have.

Standard library only; Python 3.6 to 3.14.
"""

import importlib
import os
import sys
import unittest
import unittest.loader
import unittest.suite
from traceback import TracebackException
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__unittest = True  # hides the frames of this file from the tracebacks that unittest prints
FAILED_IMPORT, SKIPPED_MODULE = "_FailedTest", "ModuleSkipped"  # classes of unittest.loader


class TargetLoader(unittest.TestLoader):
    """Loads given files and folders in place of what the command would load, if there are some."""

    def __init__(
        self,
        targets: "list[str]",
        collect_error: "Callable[[str, BaseException], None]",
        collect_skip: "Callable[[str, str], None]",
    ) -> None:
        super().__init__()
        self._targets = targets
        self._collect_error, self._collect_skip = collect_error, collect_skip

    def discover(
        self, start_dir: str, pattern: str = "test*.py", top_level_dir: "str | None" = None
    ) -> unittest.TestSuite:
        """Load the targets; a `load_tests` function that discovers gets what it asks for."""
        targets, self._targets = self._targets, []
        if not targets:
            return super().discover(start_dir, pattern, top_level_dir)
        top = top_level_dir or (None if start_dir == "." else start_dir)
        return self.suiteClass([self._load(target, pattern, top) for target in targets])

    def loadTestsFromNames(self, names: "Any", module: "Any" = None) -> unittest.TestSuite:
        """Load the targets, or the names if there are none."""
        if not self._targets:
            return super().loadTestsFromNames(names, module)
        return self.discover(".")

    def _load(self, target: str, pattern: str, top: "str | None") -> "Any":
        path, _, inner = target.partition("::")
        if os.path.isdir(path):
            is_below = top is not None and _is_below(path, top)
            return super().discover(path, pattern, top if is_below else _package_root(path))
        try:
            module = _import_file(path, top)
        except unittest.SkipTest as skip:
            self._collect_skip(path, str(skip))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - also the SystemExit of a module
            self._collect_error(path, error)
        else:
            if inner:
                return self.loadTestsFromName(inner.partition("[")[0].replace("::", "."), module)
            return self.loadTestsFromModule(module)
        return unittest.TestSuite()


def _import_file(path: str, top: "str | None") -> "Any":
    # By its name below its top-level folder, as discovery does.
    root = top if top is not None and _is_below(path, top) else _package_root(os.path.dirname(path))
    module = _import_below(root, path)
    if os.path.realpath(str(module.__file__)) != os.path.realpath(path):
        # Two folders have modules of one name, and the other one was imported first.
        module = _import_below(".", path)
    return module


def _import_below(folder: str, path: str) -> "Any":
    folder = os.path.abspath(folder)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(_dotted(os.path.relpath(path, folder)))


def label_of(target: str, folder: str) -> str:
    """Django's label of a file, package or node id; empty for the folder of all and for data."""
    path, _, inner = target.partition("::")
    relative = os.path.relpath(path, folder or ".")
    is_package = os.path.isfile(os.path.join(path, "__init__.py"))
    if relative.startswith(os.curdir) or not (path.endswith(".py") or is_package):
        return ""
    names = inner.partition("[")[0].split("::") if inner else []
    return ".".join([_dotted(relative), *names])


def _dotted(path: str) -> str:
    parts = os.path.normpath(path[: -len(".py")] if path.endswith(".py") else path).split(os.sep)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _package_root(folder: str) -> str:
    folder = os.path.abspath(folder or ".")
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder


def _is_below(path: str, folder: str) -> bool:
    return not os.path.relpath(path, folder).startswith(os.pardir)


def flat(suite: "Any") -> "Iterator[Any]":
    """The tests of a suite and of the suites in it."""
    if isinstance(suite, unittest.suite.BaseTestSuite):
        for member in suite:
            yield from flat(member)
    else:
        yield suite


def is_substitute(test: object) -> bool:
    """Whether unittest's loader made the test in place of a module that it could not load."""
    kind = type(test)
    return kind.__module__ == "unittest.loader" and kind.__name__ in (
        FAILED_IMPORT,
        SKIPPED_MODULE,
    )


def groups_of(test: object) -> "tuple[str, str]":
    """The names of a test's class and of its module, as fixtures of both are reported."""
    kind = type(test)
    return f"{kind.__module__}.{kind.__qualname__}", kind.__module__


def node_id_of(test: "Any", root: str) -> str:
    """The node id of a test: its file, the class that runs it, and its method."""
    kind = type(test)
    doctest = getattr(test, "_dt_test", None)
    function = getattr(test, "_testFunc", None)
    if doctest is not None:
        file, names = doctest.filename, [doctest.name]
    elif function is not None:
        file, names = _file(function.__module__), [function.__qualname__]
    else:
        method = getattr(test, "_testMethodName", None) or str(test)
        file, names = _file(kind.__module__), [*kind.__qualname__.split("."), method]
    path = os.path.realpath(file) if file else "unknown"
    relative = os.path.relpath(path, root) if file else path
    return "::".join([path if relative.startswith(os.pardir) else relative, *names])


def _file(module: str) -> "str | None":
    return getattr(sys.modules.get(module), "__file__", None)


def file_of_module(name: str) -> str:
    """The file of a module that could not be imported; its name if no folder has it."""
    relative = name.replace(".", os.sep)
    for folder in [*sys.path, *(os.path.join(os.getcwd(), top) for top in ("tests", "test"))]:
        for path in (relative + ".py", os.path.join(relative, "__init__.py")):
            full = os.path.join(folder, path)
            if os.path.isfile(full) and _is_below(full, os.getcwd()):
                return os.path.relpath(full)
    return name


def names_of(test: "Any") -> "list[str]":
    """How unittest prints a test: with its class and, if it has one, by its documentation."""
    kind = type(test)
    method = getattr(test, "_testMethodName", None)
    if method is None:
        return [str(test)]
    documentation = (getattr(test, "_testMethodDoc", None) or "").strip().split("\n")[0].strip()
    name = f"{method} ({kind.__module__}.{kind.__qualname__})"
    return [name, *([documentation] if documentation else [])]


def subtest_name(subtest: "Any") -> str:
    """The message and the parameters of a subtest."""
    describe = getattr(subtest, "_subDescription", None)
    return str(describe()) if describe is not None else ""


def was_raised_in(module: str, error: BaseException) -> bool:
    """Whether the frame that raised an exception belongs to a module."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and traceback.tb_frame.f_globals.get("__name__") == module


def texts_of(error: "BaseException | None") -> "dict[str, str]":
    """The message and the traceback of an exception."""
    if error is None:
        return {"message": "", "traceback": ""}
    report = TracebackException(type(error), error, error.__traceback__)
    own = {os.path.abspath(__file__)}
    folder = os.path.dirname(str(unittest.__file__))
    frames = [
        frame
        for frame in report.stack
        if frame.filename not in own and os.path.dirname(frame.filename) != folder
    ]
    report.stack[:] = frames
    lines = "".join(report.format_exception_only()).strip().splitlines()
    message = lines[-1] if isinstance(error, SyntaxError) else "\n".join(lines)
    return {"message": message, "traceback": "".join(report.format())}
