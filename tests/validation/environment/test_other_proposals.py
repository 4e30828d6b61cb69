from datetime import date
from pathlib import Path

import pytest

from agentbench.errors import InputError
from agentbench.tasks.test_runner_name import Runner
from agentbench.validation.environment.other_proposals import propose_other
from agentbench.validation.languages import Language
from tests.validation.environment.trees import write_tree

GO_COMPILES = "go test -run '^$' ./... || true"


def ways(tree: Path, language: Language, on: date | None = None) -> list[tuple[str, str]]:
    """The set-ups and commands for one image, with the set-up's lines joined."""
    proposals = [
        each for each in propose_other(tree, language, on=on) if not each.environment.image
    ]
    return [(" && ".join(each.setup.commands), each.tests.command) for each in proposals]


def package(tmp_path, *, files=(), **tables):
    text = "{" + ", ".join(f'"{name}": {value}' for name, value in tables.items()) + "}"
    return write_tree(tmp_path, {"package.json": text, **dict.fromkeys(files, "")})


def test_images_come_before_the_tools_of_the_sandbox(tmp_path):
    tree = write_tree(tmp_path, {"go.mod": "module m\n"})
    images = [each.environment.image for each in propose_other(tree, Language.GO)]
    assert images == [
        "agentbench/python:3.13-go1.24",
        "agentbench/python:3.11-go1.19",
        "agentbench/python:3.9-go1.15",
        None,
    ]


@pytest.mark.parametrize(
    ("scripts", "dependencies", "runner", "command"),
    [
        ('{"test": "jest --silent"}', '{"jest": "29"}', Runner.JEST, "npm test"),
        ('{"test": "npm run lint && vitest run"}', "{}", Runner.VITEST, "npm test"),
        ('{"test": "eslint .", "test:unit": "mocha"}', "{}", Runner.MOCHA, "npm run test:unit"),
        ('{"test": "nyc mocha"}', '{"mocha": "10", "nyc": "15"}', Runner.MOCHA, "npx mocha"),
        ('{"test": "node --test test/"}', "{}", Runner.NODE, "npm test"),
        ("{}", '{"typescript": "5"}', Runner.NODE, "node --test"),
        ('{"test": 7}', '{"vitest": "3"}', Runner.VITEST, "npx vitest run"),
    ],
)
def test_the_runner_of_a_node_project_is_found(tmp_path, scripts, dependencies, runner, command):
    tree = package(tmp_path, scripts=scripts, devDependencies=dependencies)
    first = propose_other(tree, Language.JAVASCRIPT)[0]
    assert (first.tests.runner, first.tests.command) == (runner, command)


@pytest.mark.parametrize(
    ("lock", "install"),
    [
        ("package-lock.json", "npm ci --no-audit --no-fund"),
        ("pnpm-lock.yaml", "npx --yes pnpm install --frozen-lockfile"),
        ("yarn.lock", "npx --yes yarn@1 install --frozen-lockfile"),
    ],
)
def test_a_lock_file_says_how_to_install(tmp_path, lock, install):
    tree = package(tmp_path, files=[lock], scripts='{"test": "jest", "build": "tsc"}')
    assert [setup for setup, _ in ways(tree, Language.JAVASCRIPT, on=date(2022, 5, 31))] == [
        install,
        f"{install} && npm run build",
        "npm install --no-audit --no-fund",
        "npm install --no-audit --no-fund && npm run build",
    ]


def test_libraries_without_a_lock_file_are_those_of_the_day(tmp_path):
    tree = package(tmp_path, scripts='{"test": "jest"}')
    assert [setup for setup, _ in ways(tree, Language.JAVASCRIPT, on=date(2022, 5, 31))] == [
        "npm install --no-audit --no-fund --before=2022-05-31",
        "npm install --no-audit --no-fund",
    ]


@pytest.mark.parametrize(
    ("language", "files", "expected"),
    [
        (Language.GO, {"go.mod": "module m\n"}, [(GO_COMPILES, "go test ./...")]),
        (
            Language.GO,
            {"go.mod": "module m\nrequire example.com/a v1.0.0\n"},
            [(f"go mod download && {GO_COMPILES}", "go test ./...")],
        ),
        (
            Language.GO,
            {"go.mod": "module m\nrequire example.com/a v1.0.0\n", "vendor/modules.txt": ""},
            [(GO_COMPILES, "go test ./...")],
        ),
        (
            Language.RUST,
            {"Cargo.toml": "[package]\n"},
            [("cargo test --no-run", "cargo test")],
        ),
        (
            Language.RUST,
            {"Cargo.toml": "[workspace]\n"},
            [("cargo test --no-run", "cargo test --workspace")],
        ),
        (
            Language.JAVA,
            {"pom.xml": "<project/>"},
            [
                ("mvn -B -Dmaven.test.failure.ignore=true test", "mvn -o -B test"),
                ("", "mvn -o -B test"),
            ],
        ),
        (
            Language.JAVA,
            {"build.gradle.kts": "", "gradlew": ""},
            [
                (
                    "./gradlew --no-daemon --continue test || true",
                    "./gradlew --offline --no-daemon test",
                )
            ],
        ),
    ],
)
def test_package_files_say_how_tests_run(tmp_path, language, files, expected):
    assert ways(write_tree(tmp_path, files), language) == expected


@pytest.mark.parametrize(
    ("language", "files", "names"),
    [
        (Language.GO, {"calc/go.mod": "module m\n"}, "go.mod"),
        (Language.JAVASCRIPT, {"package.json": "{"}, "package.json"),
        (Language.JAVA, {"build.xml": "<project/>"}, "pom.xml or build.gradle"),
    ],
)
def test_a_project_without_a_package_file_is_refused(tmp_path, language, files, names):
    tree = write_tree(tmp_path, files)
    with pytest.raises(InputError, match=f"expected {names} at the top .* --setup and"):
        propose_other(tree, language)
