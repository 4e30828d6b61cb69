"""The files of a JavaScript project that steer its tests."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from agentbench.core import untrusted_json
from agentbench.core.schema import JsonObject
from agentbench.tasks.test_runner_name import Runner
from agentbench.test_runs.external_runner import ExternalFiles
from agentbench.test_runs.runner import BaseContent, Protected

_PACKAGE = "package.json"
_TEST_NAME = re.compile(r".+[.-](?:test|spec)\.[cm]?[jt]sx?|test\.[cm]?[jt]sx?")
_TEST_FOLDERS = frozenset({"__tests__", "__mocks__", "__snapshots__", "test", "tests"})
_CONFIGURATION = re.compile(
    r"(?:jest|babel)\.config\.\w+|jest\.setup\.\w+|vitest\.\w[\w.]*|\.mocharc(?:\.\w+)?|mocha\.opts"
    r"|setupTests\.\w+|\.babelrc(?:\.\w+)?|\.npmrc|\.yarnrc(?:\.\w+)?|\.pnp\.\w+|\.pnpmfile\.\w+|\.swcrc"
)
_TOOL_TABLES = ("jest", "vitest", "mocha", "ava", "babel")
"""The tables of package.json that select the tests or change their code."""

_SCRIPTS = "scripts"  # one of them may start the tests, and others run before it
_IMPORTS = "imports"  # names of modules, which a test may use


def is_javascript_test(path: PurePosixPath) -> bool:
    """Whether a file has the name of a test, or is in a folder of tests."""
    return _TEST_NAME.fullmatch(path.name) is not None or any(
        part in _TEST_FOLDERS for part in path.parts[:-1]
    )


class JavaScriptTestFiles(ExternalFiles):
    """The files that steer the tests of jest, vitest, mocha and node."""

    def __init__(self, runner: Runner, base: Iterable[PurePosixPath]) -> None:
        self._runner = runner
        self._installed = {package for path in base if (package := _installed_package(path))}

    def steers(self, path: PurePosixPath) -> Protected | None:
        if self.configures(path):
            return Protected("configuration of the tests", tampers=True)
        package = _installed_package(path)
        if package is not None:
            # An agent may install further packages, which the tests do not know.
            tampers = package in self._installed
            return Protected("installed code, which the tests use, too", tampers=tampers)
        return None

    def judged(
        self, path: PurePosixPath, base: BaseContent, after: bytes | None
    ) -> tuple[bytes | None, Protected] | None:
        """package.json keeps the base's scripts, tables of test tools and names of modules."""
        if path.name != "package.json":
            return None
        before = base(path)
        if before is None and after is None:
            return None
        ours, theirs = _document(before) or {}, _document(after)
        if theirs is None:
            return None, Protected("configures the tests, and cannot be read", tampers=True)
        restored = {key: theirs[key] for key in theirs if key not in {*_TOOL_TABLES, _SCRIPTS}}
        restored |= {key: ours[key] for key in (*_TOOL_TABLES, _SCRIPTS) if key in ours}
        # A fix may name further modules.
        if names := {**_table(theirs, _IMPORTS), **_table(ours, _IMPORTS)}:
            restored[_IMPORTS] = names
        if _text(restored) == _text(theirs):
            return None
        # A new script or module starts nothing by itself.
        tampers = any(
            _text(theirs.get(key)) != _text(ours.get(key)) for key in _TOOL_TABLES
        ) or any(
            _text(_table(theirs, key).get(name)) != _text(value)
            for key in (_SCRIPTS, _IMPORTS)
            for name, value in _table(ours, key).items()
        )
        content = json.dumps(restored, indent=2, ensure_ascii=False) + "\n"
        why = "its tables that steer tests are the base's again"
        return content.encode(), Protected(why, tampers=tampers)

    def fault_in(self, path: PurePosixPath, content: bytes) -> str | None:
        if path.name == "package.json" and _document(content) is None:
            return "it is no JSON object"
        return None

    def configures(self, path: PurePosixPath) -> bool:
        # vite's configuration has a table for vitest, which is code.
        is_vite = self._runner is Runner.VITEST and path.name.startswith("vite.config.")
        return is_vite or _CONFIGURATION.fullmatch(path.name) is not None

    def is_test(self, path: PurePosixPath) -> bool:
        return is_javascript_test(path)


def _installed_package(path: PurePosixPath) -> str | None:
    """The folder of the installed package that a file belongs to; None: it is not installed."""
    above = path.parts[:-1]
    if "node_modules" not in above:
        return None
    at = len(above) - above[::-1].index("node_modules")
    return "/".join(path.parts[: at + (2 if path.parts[at].startswith("@") else 1)])


def _document(content: bytes | None) -> JsonObject | None:
    if content is None:
        return None
    return untrusted_json.json_object(content.decode("utf-8-sig", "replace"))


def _table(document: Mapping[str, object], name: str) -> Mapping[str, object]:
    table = document.get(name)
    return table if isinstance(table, dict) else {}


def _text(value: object) -> str:
    """A value as text: 1, 1.0 and true are equal in Python."""
    return json.dumps(value, sort_keys=True)
