import json
from pathlib import PurePosixPath as P

import pytest

from agentbench.tasks.test_runner_name import Runner
from agentbench.test_runs.javascript_files import JavaScriptTestFiles, is_javascript_test

BASE = (
    P("src/a.js"),
    P("node_modules/x/node_modules"),
    P("node_modules/jest/index.js"),
    P("node_modules/@jest/core/build/x.js"),
)


def files_of(runner=Runner.JEST):
    return JavaScriptTestFiles(runner, BASE)


@pytest.mark.parametrize(
    "path",
    [
        "src/a.test.js",
        "src/a.spec.tsx",
        "src/a-test.mjs",
        "test.js",
        "test/helper.js",
        "packages/x/tests/data.json",
        "src/__tests__/a.ts",
        "src/__mocks__/fs.js",
        "src/__snapshots__/a.snap",
    ],
)
def test_tests_are_recognised_by_names_and_folders(path):
    assert is_javascript_test(P(path))
    assert files_of().why(P(path)).tampers is False


@pytest.mark.parametrize("path", ["src/a.js", "src/testing.js", "latest/a.js", "src/contest.ts"])
def test_other_files_are_the_agents(path):
    assert not is_javascript_test(P(path))
    assert files_of().why(P(path)) is None


@pytest.mark.parametrize(
    "path",
    [
        "jest.config.ts",
        "pkg/jest.config.js",
        "jest.setup.js",
        "src/setupTests.js",
        "vitest.config.mts",
        "vitest.workspace.js",
        ".mocharc.yml",
        ".mocharc",
        "babel.config.js",
        ".babelrc",
        ".babelrc.json",
        ".npmrc",
        ".yarnrc.yml",
        ".pnp.cjs",
    ],
)
def test_configuration_of_tests_tampers(path):
    assert files_of().why(P(path)).tampers is True
    assert files_of().configures(P(path))


def test_configuration_of_vite_is_protected_for_vitest_alone():
    path = P("vite.config.ts")
    assert files_of(Runner.VITEST).why(path).tampers is True
    assert files_of(Runner.MOCHA).why(path) is None


@pytest.mark.parametrize(
    ("path", "tampers"),
    [
        ("node_modules/jest/index.js", True),
        ("node_modules/jest/new.js", True),
        ("node_modules/@jest/core/package.json", True),
        ("node_modules/left-pad/index.js", False),
        ("node_modules/@jest/other/index.js", False),
        ("node_modules/.package-lock.json", False),
    ],
)
def test_a_change_of_an_installed_package_tampers_and_a_new_package_does_not(path, tampers):
    assert files_of().why(P(path)).tampers is tampers


def judged(before, after):
    """What is judged of package.json: its text, the base's (None), or the agent's ("own")."""
    content = {P("package.json"): before and json.dumps(before).encode()}
    after = json.dumps(after).encode() if isinstance(after, dict) else after
    found = files_of().judged(P("package.json"), content.get, after)
    if found is None:
        return "own", None
    text, why = found
    return text and json.loads(text), why.tampers


BEFORE = {
    "name": "x",
    "version": "1.0.0",
    "scripts": {"test": "jest"},
    "jest": {"bail": 1},
    "imports": {"#a": "./a.js"},
}


@pytest.mark.parametrize(
    "change",
    [
        {"version": "1.0.1"},
        {"exports": {".": "./new.js"}, "main": "new.js", "type": "module"},
        {"dependencies": {"left-pad": "1"}},
        {"imports": {"#a": "./a.js", "#b": "./b.js"}},
    ],
)
def test_an_honest_change_of_package_json_is_judged(change):
    assert judged(BEFORE, {**BEFORE, **change}) == ("own", None)


@pytest.mark.parametrize(
    "change",
    [
        {"scripts": {"test": "exit 0"}},
        {"scripts": {}},
        {"jest": {"bail": True}},
        {"mocha": {"require": "./x.js"}},
        {"babel": {"plugins": ["./x"]}},
        {"imports": {"#a": "./mine.js"}},
    ],
)
def test_the_parts_of_package_json_that_steer_tests_are_restored(change):
    assert judged(BEFORE, {**BEFORE, **change, "main": "b.js"}) == (
        {**BEFORE, "main": "b.js"},
        True,
    )


def test_a_new_script_is_left_out_and_no_tampering():
    scripts = {"test": "jest", "build": "make"}
    assert judged(BEFORE, {**BEFORE, "scripts": scripts}) == (BEFORE, False)


def test_package_json_without_a_base_loses_its_tables():
    assert judged(None, {"type": "module"}) == ("own", None)
    assert judged(None, {"type": "module", "jest": {}}) == ({"type": "module"}, True)


@pytest.mark.parametrize("after", [b"{", b"[]", None])
def test_an_unreadable_or_removed_package_json_is_the_bases(after):
    assert judged(BEFORE, after) == (None, True)


def test_fault_of_package_json_is_told():
    assert files_of().fault_in(P("package.json"), b"{,}") == "it is no JSON object"
    assert files_of().fault_in(P("package.json"), b'\xef\xbb\xbf{"a": 1}') is None
    assert files_of().fault_in(P("a.json"), b"{") is None
