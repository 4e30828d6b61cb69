import pytest

from agentbench.tasks.test_command import TestCommand, parse_test_command
from agentbench.tasks.test_runner_name import RUNNER_COMMANDS, Runner


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pytest", TestCommand(as_module=False)),
        (
            "pytest -q --tb=short",
            TestCommand(as_module=False, options=("-q", "--tb=short")),
        ),
        ("python -m pytest", TestCommand(as_module=True)),
        ("python3 -m pytest", TestCommand(as_module=True, interpreter="python3")),
        ("python3.12 -m pytest", TestCommand(as_module=True, interpreter="python3.12")),
        (
            "pytest -k 'a or b' -o \"x=y z\"",
            TestCommand(as_module=False, options=("-k", "a or b", "-o", "x=y z")),
        ),
        ("pytest -k 'a|b;c'", TestCommand(as_module=False, options=("-k", "a|b;c"))),
    ],
)
def test_both_spellings_of_pytest_are_parsed(text, expected):
    assert parse_test_command(text) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "it is empty"),
        ("   ", "it is empty"),
        ("make test", "'make test'"),
        ("tox -e py", "'tox -e py'"),
        ("A=1 pytest", "give variables as environment.env"),
        ("/usr/bin/pytest", "not its path"),
        ("./venv/bin/python -m pytest", "not its path"),
        ("python2 -m pytest", "'python2 -m pytest'"),
        ("python -m unittests", "unittests"),
        ("python runtest.py", "runtest.py"),
        ("python ../tests/runtests.py", "../tests"),
        ("python /x/runtests.py", "/x/runtests.py"),
        ("./tests/runtests.py", "not its path"),
        ("python -I -m pytest", "-I"),
        ("python3.12; -m pytest", "shell's operators"),
        ("pytest && rm x", "shell's operators"),
        ("pytest | tee log", "shell's operators"),
        ("pytest > log", "shell's operators"),
        ("pytest $(cat ids)", "shell's operators"),
        ('pytest "$(cat ids)"', "shell's operators"),
        ("pytest `cat ids`", "shell's operators"),
        ("pytest\nrm x", "shell's operators"),
        ("pytest 'unclosed", "No closing quotation"),
    ],
)
def test_other_commands_are_refused(text, named):
    with pytest.raises(ValueError, match="expected `pytest …`") as caught:
        parse_test_command(text)
    assert named in str(caught.value)


def test_commands_of_other_runners_are_parsed():
    assert parse_test_command("python3.9 -m unittest discover -s tests") == TestCommand(
        as_module=True,
        interpreter="python3.9",
        options=("discover", "-s", "tests"),
        runner=Runner.UNITTEST,
    )
    assert parse_test_command("python tests/runtests.py --parallel 1") == TestCommand(
        as_module=False,
        options=("--parallel", "1"),
        runner=Runner.DJANGO,
        script="tests/runtests.py",
    )


@pytest.mark.parametrize("runner", [each for each in Runner if RUNNER_COMMANDS[each].usual])
def test_the_usual_command_of_a_runner_starts_it(runner):
    assert parse_test_command(RUNNER_COMMANDS[runner].usual, runner).runner is runner


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("npx jest --ci", Runner.JEST),
        ("npx --no-install jest", Runner.JEST),
        ("yarn jest --runInBand", Runner.JEST),
        ("pnpm exec vitest run", Runner.VITEST),
        ("node_modules/.bin/mocha -r ts-node/register", Runner.MOCHA),
        ("node --experimental-vm-modules node_modules/jest/bin/jest.js", Runner.JEST),
        ("node --import=tsx --test", Runner.NODE),
        ("go test -v ./...", Runner.GO),
        ("cargo +nightly test --all", Runner.CARGO),
    ],
)
def test_command_of_another_language_names_its_runner(command, runner):
    parsed = parse_test_command(command)
    assert (parsed.runner, parsed.words) == (runner, tuple(command.split()))


@pytest.mark.parametrize("runner", [Runner.JEST, Runner.VITEST, Runner.MOCHA, Runner.NODE])
@pytest.mark.parametrize("command", ["npm test", "yarn run test:unit", "pnpm test"])
def test_script_of_package_json_starts_the_runner_that_the_task_names(command, runner):
    assert parse_test_command(command, runner).words == tuple(command.split())
    with pytest.raises(ValueError, match="expected `pytest …` or"):
        parse_test_command(command)


@pytest.mark.parametrize("runner", [Runner.JUNIT, Runner.TAP])
def test_program_that_only_reports_needs_a_command(runner):
    assert parse_test_command("make check", runner).words == ("make", "check")
    with pytest.raises(ValueError, match="found '': it is empty"):
        parse_test_command(RUNNER_COMMANDS[runner].usual, runner)


def test_command_of_go_without_its_runner_says_which_one_it_needs():
    with pytest.raises(ValueError, match='or runner = "go"'):
        parse_test_command("go test ./...", Runner.PYTEST)


def test_command_of_another_runner_is_refused():
    with pytest.raises(ValueError, match=r"expected `python\[3\[.N\]\] -m unittest …`") as caught:
        parse_test_command("pytest", Runner.UNITTEST)
    assert 'runner = "pytest"' in str(caught.value)
    with pytest.raises(ValueError, match=r"tests/runtests.py …`, found 'make test'$"):
        parse_test_command("make test", Runner.DJANGO)


@pytest.mark.parametrize(
    "option", ["--co", "--collect-only", "--fixtures", "--setup-plan", "--help", "-h", "--version"]
)
@pytest.mark.parametrize("start", ["pytest", "python -m pytest", "python -m unittest"])
def test_command_that_runs_no_test_is_refused(start, option):
    with pytest.raises(ValueError, match="expected a command that runs tests") as caught:
        parse_test_command(f"{start} -q {option}")
    assert f"{option} runs none" in str(caught.value)


def test_command_of_another_language_without_a_runner_has_a_hint():
    with pytest.raises(ValueError, match="found 'npm test': a project in another language names"):
        parse_test_command("npm test")
