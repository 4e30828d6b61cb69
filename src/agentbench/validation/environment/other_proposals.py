"""Proposals for projects in JavaScript, Go, Rust and Java, read from their package files."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from itertools import islice, product
from pathlib import Path
from types import MappingProxyType

from agentbench.core import untrusted_json
from agentbench.core.schema import JsonObject
from agentbench.errors import InputError
from agentbench.sandbox.toolchains import Tool, images_with
from agentbench.tasks.project_declaration import read_project_file, table_in
from agentbench.tasks.task import TaskSetup
from agentbench.tasks.task_file import EnvironmentTable, TestsTable
from agentbench.tasks.test_runner_name import RUNNER_COMMANDS, Runner, runner_started_by
from agentbench.validation.environment.proposals import Proposal
from agentbench.validation.languages import Language

_MAX_WAYS = 8
"""Tried in each image."""

_INSTALL = "npm install --no-audit --no-fund"
_LOCKED_INSTALLS = {
    "package-lock.json": "npm ci --no-audit --no-fund",
    "npm-shrinkwrap.json": "npm ci --no-audit --no-fund",
    "pnpm-lock.yaml": "npx --yes pnpm install --frozen-lockfile",
    "yarn.lock": "npx --yes yarn@1 install --frozen-lockfile",
}
_NODE_RUNNERS = (Runner.VITEST, Runner.JEST, Runner.MOCHA)
"""The runners that are packages, in the order in which they are tried."""


def propose_other(
    tree: Path, language: Language, *, on: date | None = None
) -> tuple[Proposal, ...]:
    """Proposals for running the tests of a project in another language than Python.

    Each is for an image with the language's tools, and, last, for the sandbox's own tools.

    Args:
        tree: The project's files.
        language: The language of its tests.
        on: The day of that state, to install the libraries of that time.

    Raises:
        InputError: nothing in the project says how its tests run.
    """
    tool, expected, propose = _LANGUAGES[language]
    ways = list(islice(propose(tree, on), _MAX_WAYS))
    if not ways:
        raise InputError(
            f"nothing says how these tests in {language.value} run: expected {expected} at "
            "the top of the repository; give --setup and --test-command"
        )
    return tuple(
        Proposal(
            environment=EnvironmentTable(image=image),
            setup=TaskSetup(commands=setup),
            tests=tests,
            reasons=(f"image {image}" if image else f"{tool.value} of the sandbox", *reasons),
        )
        for image in (*images_with(tool), None)
        for setup, tests, reasons in ways
    )


_Way = tuple[tuple[str, ...], TestsTable, tuple[str, ...]]
"""The commands of the set-up, the tests, and the reasons for both."""


def _javascript(tree: Path, on: date | None) -> Iterator[_Way]:
    package = untrusted_json.json_object(read_project_file(tree, "package.json") or "")
    if package is None:
        return
    scripts = table_in(package, "scripts")
    locked = [name for name in _LOCKED_INSTALLS if (tree / name).is_file()]
    installs = [(_LOCKED_INSTALLS[name], name) for name in locked[:1]]
    if on is not None and not locked:
        installs.append((f"{_INSTALL} --before={on}", f"libraries as of {on}"))
    installs.append((_INSTALL, "the newest libraries"))
    setups: list[tuple[tuple[str, ...], str]] = []
    for install, reason in installs:
        setups.append(((install,), reason))
        if "build" in scripts:
            setups.append(((install, "npm run build"), f"{reason}, and a build"))
    for (setup, reason), (tests, why) in product(setups, _node_tests(package, scripts)):
        yield setup, tests, (reason, why)


def _node_tests(
    package: JsonObject, scripts: Mapping[str, object]
) -> Iterator[tuple[TestsTable, str]]:
    """The commands that start a tool of which agentbench has a runner, most specific first."""
    is_known = False
    # `test` comes before `test:unit`.
    for name in sorted(name for name in scripts if re.fullmatch(r"(?:test|unit)\b[\w:.-]*", name)):
        # What npm adds to a script reaches its last command alone.
        last = re.split(r"&&|;|\|\|", str(scripts[name]))[-1].strip()
        runner = runner_started_by(last) or runner_started_by(f"npx {last}")
        if runner is not None:
            is_known = True
            line = "npm test" if name == "test" else f"npm run {name}"
            yield TestsTable(runner=runner, command=line), f"script {name} of package.json"
    dependencies = {
        name for table in ("devDependencies", "dependencies") for name in table_in(package, table)
    }
    for runner in _NODE_RUNNERS:
        if runner.value in dependencies:
            is_known = True
            yield _usual(runner), f"{runner.value} is a dependency in package.json"
    if not is_known:
        yield _usual(Runner.NODE), "no other test runner in package.json"


def _go(tree: Path, _on: date | None) -> Iterator[_Way]:
    text = read_project_file(tree, "go.mod")
    if text is not None:
        needs_modules = "require" in text and not (tree / "vendor").is_dir()
        fetch = ("go mod download",) if needs_modules else ()
        # Go 1.20 and newer compile their own packages, too, which takes minutes once.
        yield (*fetch, "go test -run '^$' ./... || true"), _usual(Runner.GO), ("go.mod",)


def _rust(tree: Path, _on: date | None) -> Iterator[_Way]:
    text = read_project_file(tree, "Cargo.toml")
    if text is not None:
        is_workspace = re.search(r"^\[workspace\]", text, re.MULTILINE) is not None
        line = "cargo test --workspace" if is_workspace else "cargo test"
        tests = TestsTable(runner=Runner.CARGO, command=line)
        # A judged run has no network, so that set-up also compiles what the tests need.
        yield ("cargo test --no-run",), tests, ("Cargo.toml",)


def _java(tree: Path, _on: date | None) -> Iterator[_Way]:
    # A tool fetches the plug-ins that run tests only when it runs some, which may fail here.
    if (tree / "pom.xml").is_file():
        report = "**/target/surefire-reports/*.xml"
        tests = TestsTable(runner=Runner.JUNIT, command="mvn -o -B test", report=report)
        fetch = "mvn -B -Dmaven.test.failure.ignore=true test"
        yield (fetch,), tests, ("pom.xml",)
        yield (), tests, ("pom.xml", "the plug-ins of the image")
    if (tree / "build.gradle").is_file() or (tree / "build.gradle.kts").is_file():
        gradle = "./gradlew" if (tree / "gradlew").is_file() else "gradle"
        report = "**/build/test-results/test/*.xml"
        line = f"{gradle} --offline --no-daemon test"
        tests = TestsTable(runner=Runner.JUNIT, command=line, report=report)
        yield (f"{gradle} --no-daemon --continue test || true",), tests, ("Gradle's build file",)


def _usual(runner: Runner) -> TestsTable:
    return TestsTable(runner=runner, command=RUNNER_COMMANDS[runner].usual)


_LANGUAGES: Mapping[Language, tuple[Tool, str, Callable[[Path, date | None], Iterator[_Way]]]] = (
    MappingProxyType(
        {
            Language.JAVASCRIPT: (Tool.NODE, "package.json", _javascript),
            Language.GO: (Tool.GO, "go.mod", _go),
            Language.RUST: (Tool.RUST, "Cargo.toml", _rust),
            Language.JAVA: (Tool.JAVA, "pom.xml or build.gradle", _java),
        }
    )
)
