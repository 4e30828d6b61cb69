import contextlib
import json
import tomllib

import pytest
import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentbench.errors import InputError
from agentbench.tasks.problem import AgentLimits, Problem
from agentbench.tasks.task import AnswerKey, TaskSetup
from agentbench.tasks.task_file import (
    EnvironmentTable,
    RepoTable,
    TaskFile,
    TestsTable,
    check_workdir,
    is_task_id,
    parse_task_file,
)
from agentbench.tasks.writing import task_toml


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("/app", "/app"),
        ("/usr/src/app/", "/usr/src/app"),
        ("/root", "/root"),
        ("/opt/a b", "/opt/a b"),
        *((folder, folder) for folder in ("/tmp", "/tmp/x", "/home", "/opt", "/srv", "/solution")),
    ],
)
def test_workdir_is_normalised(path, stored):
    assert check_workdir(path) == stored


@pytest.mark.parametrize(
    "path", ["", "app", "/", "/usr", "/etc", "/var", "/tests", "/logs/a", "/a/../etc", "/a\nb"]
)
def test_system_folder_is_refused_as_workdir(path):
    with pytest.raises(ValueError, match=r"^is (not an absolute path|a folder of the system)"):
        check_workdir(path)


BY_PATH = 'schema_version = 1\ntitle = "t"\n[repo]\npath = "repo"\n'
COMMIT = "0123456789abcdef0123456789abcdef01234567"
FUZZ = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


def by_url(url: str, commit: str = COMMIT) -> str:
    return (
        f'schema_version = 1\ntitle = "t"\n[repo]\nurl = {json.dumps(url)}\ncommit = "{commit}"\n'
    )


def faults(text: str) -> tuple[str, ...]:
    with pytest.raises(InputError) as caught:
        parse_task_file(text, name="x/task.toml")
    return caught.value.faults


def test_every_key_of_the_format_is_read():
    table = parse_task_file(
        BY_PATH.replace("[repo]", 'id = "a-b.c_1"\ntags = ["easy"]\n[repo]')
        + '[environment]\nimage = "agentbench/python:3.12"\nenv = { TZ = "UTC" }\n'
        + "cpus = 2\nmemory_mib = 512\npids = 99\ndisk_mib = 100\nfiles = 5000\n"
        + '[setup]\ncommands = ["pip install -e ."]\ntimeout_s = 1.5\nnetwork = false\n'
        + '[tests]\ncommand = "pytest -q"\npaths = ["tests"]\ntimeout_s = 9\n'
        + 'fail_to_pass = ["tests/test_a.py::test_b[x::y]"]\npass_to_pass = "baseline"\n'
        + 'protected = ["tests/**"]\n'
        + "[agent]\ntimeout_s = 3\nmax_steps = 4\nmax_cost_usd = 0\n",
        name="x/task.toml",
    )
    assert (table.id, table.tags, table.environment.env) == ("a-b.c_1", ("easy",), {"TZ": "UTC"})
    assert table.tests.fail_to_pass == ("tests/test_a.py::test_b[x::y]",)
    assert table.tests.pass_to_pass == "baseline"
    assert table.environment.files == 5000
    assert (table.setup.timeout_s, table.setup.network) == (1.5, False)
    assert (table.agent.max_steps, table.agent.max_cost_usd) == (4, 0)


@pytest.mark.parametrize(
    ("added", "fault"),
    [
        ("[tests]\ntimeout_s = -3", "tests.timeout_s: -3 is not above 0"),
        ("[tests]\ntimeout_s = 0", "tests.timeout_s: 0 is not above 0"),
        ("[tests]\ntimeout_s = nan", "tests.timeout_s: nan is not a finite number"),
        ("[tests]\ntimeout_s = 700000", "tests.timeout_s: 700000 is above 604800"),
        ('[tests]\ntimeout_s = "300"', "tests.timeout_s: '300' is not a number"),
        ("[tests]\ntimeouts = 3", "tests.timeouts: unknown key; did you mean timeout_s?"),
        ("[tests]\npath = 3", "tests.path: unknown key; did you mean paths?"),
        ("[test]\nx = 3", "test: unknown key; did you mean tests?"),
        (
            "[agent]\nzzz = 3",
            "agent.zzz: unknown key; known here: timeout_s, max_steps, max_cost_usd",
        ),
        ('[tests]\npaths = "tests"', "tests.paths: 'tests' is not a list"),
        ('[tests]\npaths = ["a", ""]', "tests.paths.1: '' is not a path"),
        ('[tests]\nprotected = ["-x"]', "tests.protected.0: '-x' is not a plain path: "),
        (
            '[tests]\nfail_to_pass = ["a.py::b"]\nquarantined = [{ id = "a.py::b", rate = 0.5 }]',
            "tests: takes a test in `quarantined` or in a deciding list, not in both; found",
        ),
        (
            '[tests]\nquarantined = [{ id = "a.py::b", rate = 0.5 }]',
            "tests: needs `fail_to_pass` with `quarantined`, or the whole run decides",
        ),
        (
            '[tests]\nfail_to_pass = ["a.py::c"]\nquarantined = [{ id = "a.py::b", rate = 1.0 }]',
            "tests.quarantined.0.rate: 1.0 is not below 1",
        ),
        ('[tests]\npass_to_pass = "all"', "tests.pass_to_pass: 'all' is not 'baseline'"),
        ("[tests]\npass_to_pass = [1]", "tests.pass_to_pass.0: 1 is not a string"),
        (
            '[tests]\nfail_to_pass = ["test_b"]',
            "tests.fail_to_pass.0: 'test_b' is not a pytest node",
        ),
        ('[tests]\nfail_to_pass = ["-k::x"]', "tests.fail_to_pass.0: '-k::x' is not a pytest node"),
        ('[tests]\nfail_to_pass = ["../a::b"]', "tests.fail_to_pass.0: '../a::b' leaves"),
        (
            '[tests]\nfail_to_pass = ["a::b\\u0000"]',
            "tests.fail_to_pass.0: 'a::b\\x00' contains a NUL",
        ),
        ('[tests]\ncommand = "tox"', "tests.command: expected `pytest …` or"),
        (
            '[tests]\nrunner = "nose"',
            "tests.runner: 'nose' is not 'pytest', 'unittest', 'django', 'jest'",
        ),
        (
            '[tests]\nrunner = "django"\ncommand = "pytest"',
            "tests.command: expected `python[3[.N]] tests/runtests.py …`, found 'pytest'; give",
        ),
        (
            '[tests]\ncommand = "python -m unittest"',
            "tests.command: expected `pytest …` or `python[3[.N]] -m pytest …`, found 'python -m",
        ),
        (
            '[tests]\nrunner = "unittest"\nfail_to_pass = [" "]',
            "tests.fail_to_pass.0: ' ' is empty; give a node id or a name that the runner prints",
        ),
        ("[setup]\nnetwork = 1", "setup.network: 1 is neither true nor false"),
        ('[setup]\ncommands = [""]', "setup.commands.0: '' is empty"),
        ('[setup]\ncommands = ["a\\u0000"]', "setup.commands.0: 'a\\x00' contains a NUL"),
        ("[agent]\nmax_steps = 1.5", "agent.max_steps: 1.5 is not a whole number"),
        ("[agent]\nmax_cost_usd = -1", "agent.max_cost_usd: -1 is below 0"),
        ("[environment]\nmemory_mib = 1", "environment.memory_mib: 1 is below 64"),
        ("[environment]\ncpus = true", "environment.cpus: True is not a number"),
        ("[environment]\nenv = 1", "environment.env: 1 is not a table"),
        ("[environment]\nenv = { A = 1 }", "environment.env.A: 1 is not a string"),
        ('[environment]\nenv = { "A B" = "" }', "environment.env.A B: 'A B' is not a name of an"),
        ('[environment]\nenv = { A = "\\u0000" }', "environment.env.A: '\\x00' contains a NUL"),
        ('[environment]\nimage = "-v/:/x"', "environment.image: '-v/:/x' does not match"),
        ('[environment]\nimage = "a"\ndockerfile = "b"', "environment: takes `image` or"),
        (
            '[agent]\nfail_to_pass = ["a.py::b"]',
            "agent.fail_to_pass: unknown key; it belongs to [tests",
        ),
        (
            '[tests]\nfail_to_pass = ["a.py::b"]\npass_to_pass = ["a.py::b"]',
            "tests: takes a test in `fail_to_pass` or in `pass_to_pass`, not in both; found",
        ),
        ('[environment]\ndockerfile = "../Dockerfile"', "environment.dockerfile: '../Docker"),
    ],
)
def test_invalid_key_is_reported_with_expectation(added, fault):
    found = faults(f"{BY_PATH}{added}\n")
    assert len(found) == 1
    assert found[0].startswith(f"x/task.toml: {fault}")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("schema_version = 1\n[repo]\npath = 'repo'", "title: is missing"),
        ("title = 't'\n[repo]\npath = 'repo'", "schema_version: is missing"),
        ("schema_version = 1\ntitle = 't'", "repo: is missing"),
        ("schema_version = 1\ntitle = 't'\nrepo = 'x'", "repo: 'x' is not a table"),
        (BY_PATH.replace("= 1", "= 2"), "schema_version: 2 is not 1"),
        (BY_PATH.replace('"t"', '""'), "title: '' is empty"),
        (BY_PATH.replace('"t"', f'"{"t" * 201}"'), "title: "),
        (BY_PATH.replace("[repo]", 'id = "A b"\n[repo]'), "id: 'A b' is not a valid id"),
        (BY_PATH.replace("[repo]", 'id = ".."\n[repo]'), "id: '..' is not a valid id"),
        (BY_PATH.replace("[repo]", f'id = "{"a" * 101}"\n[repo]'), "id: "),
        ("title = ", "not valid TOML: "),
        ("a = 1\na = 2", "not valid TOML: "),
        (f"\ufeff{BY_PATH}", "begins with a byte order mark; save it as UTF-8 without one"),
        (f"a = {'9' * 5000}", "not valid TOML: "),
        (f"a = {'[' * 5000}", "not valid TOML: "),
        (f"{BY_PATH}[tests]\ntimeout_s = 0x{'f' * 5000}", "tests.timeout_s: a huge value "),
    ],
)
def test_invalid_task_file_is_refused_in_one_line(text, fault):
    found = faults(text)
    assert len(found) == 1
    assert found[0].startswith(f"x/task.toml: {fault}")
    assert "\n" not in found[0]


@pytest.mark.parametrize(
    "url",
    [
        "https://host.example/a/b.git",
        "https://user@host.example/a.git",
        "ssh://git@host.example:22/a.git",
        "git@host.example:a/b.git",
        "file:///srv/a.git",
        "origin.bundle",
        "bundles/origin.bundle",
    ],
)
def test_safe_url_is_accepted(url):
    assert parse_task_file(by_url(url), name="x").repo.url == url


@pytest.mark.parametrize(
    "url",
    [
        "http://host.example/a.git",
        "git://host.example/a.git",
        "ext::sh -c 'touch /tmp/pwned'",
        "ext::https://host.example/a.git",
        "fd::17",
        "--upload-pack=touch /tmp/pwned",
        "-oProxyCommand=x@host:a",
        "-x@host.example:a",
        "git@-oProxyCommand=x:a",
        "ssh://-oProxyCommand=x/a",
        "ssh://git@-oProxyCommand=x/a",
        "https://-x/a",
        "file://host/a",
        "/srv/a.git",
        "../a.git",
        "../a.bundle",
        "/srv/a.bundle",
        "-x.bundle",
        "https://host.example/a b",
        "https://host.example/a\tb",
        "",
    ],
)
def test_any_other_url_is_refused(url):
    (fault,) = faults(by_url(url))
    assert fault.startswith("x/task.toml: repo.url: ")


def test_a_refused_url_is_shown_without_its_password():
    (fault,) = faults(by_url("http://user:s3cr3t@host.example/a.git"))
    assert "host.example" in fault
    assert "s3cr3t" not in fault


@pytest.mark.parametrize("commit", ["main", "v1.0", COMMIT[:12], COMMIT.upper(), f"{COMMIT}\\n"])
def test_commit_must_be_a_full_hash(commit):
    (fault,) = faults(by_url("https://host.example/a.git", commit))
    assert "repo.commit: " in fault
    assert "is not a full hash of 40 hex digits" in fault


@pytest.mark.parametrize(
    ("repo", "said"),
    [
        ("", "needs exactly one of `path` and `url`"),
        ("path = 'repo'\nurl = 'https://h/a'", "needs exactly one of `path` and `url`"),
        ("url = 'https://h/a'", "with `url` needs `commit`"),
        (f"path = 'repo'\ncommit = '{COMMIT}'", "with `path` takes no `commit`"),
        (f"commit = '{COMMIT}'", "needs exactly one of `path` and `url`"),
    ],
)
def test_repository_has_exactly_one_source(repo, said):
    (fault,) = faults(f'schema_version = 1\ntitle = "t"\n[repo]\n{repo}\n')
    assert fault.startswith(f"x/task.toml: repo: {said}")


@pytest.mark.parametrize("path", ["/etc", "../other", "a/../../b", "", ".", "./", "-x", "a\\u0007"])
def test_a_repository_path_stays_below_the_tasks_folder(path):
    (fault,) = faults(BY_PATH.replace('"repo"', f'"{path}"'))
    assert fault.startswith("x/task.toml: repo.path: ")


def test_all_faults_of_a_file_are_reported_at_once():
    found = faults(
        "schema_version = 3\nid = 'A'\nextra = 1\n[repo]\npath = '/'\n[tests]\ntimeout_s = -1\n"
    )
    named = {fault.split(": ")[1] for fault in found}
    assert named == {"schema_version", "id", "title", "extra", "repo.path", "tests.timeout_s"}


@pytest.mark.parametrize("text", ["", ".x", "-x", "a/b", "a\n", "Ä"])
def test_unsafe_name_is_no_task_id(text):
    assert not is_task_id(text)


@FUZZ
@given(st.text())
def test_any_text_is_a_task_or_an_input_error(text):
    with contextlib.suppress(InputError):
        parse_task_file(text, name="x")


TABLES = (TaskFile, RepoTable, EnvironmentTable, TaskSetup, TestsTable, AgentLimits)
keys = st.sampled_from(sorted({name for table in TABLES for name in table.model_fields}))
scalars = (
    st.text(max_size=8)
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.dates()
    | st.sampled_from([1, "baseline", "repo", "a::b", "x.bundle", 2**70, -0.0, 1e300])
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(keys | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)


@FUZZ
@given(st.dictionaries(keys, values, max_size=9))
def test_any_table_is_a_task_or_an_input_error(table):
    text = tomlkit.dumps(table)
    with contextlib.suppress(InputError):
        parsed = parse_task_file(text, name="x")
        assert parsed == TaskFile.model_validate(tomllib.loads(text))


SCRIPTED = 'schema_version = 1\ntitle = "t"\n[repo]\nworkdir = "/app"\n'


def test_script_may_judge_folder_of_image():
    text = (
        SCRIPTED + '[verifier]\nthreshold = 0.5\ntakes = ["out"]\n[solution]\nenv = { A = "1" }\n'
    )
    table = parse_task_file(text, name="x/task.toml")
    assert table.verifier is not None
    assert (table.verifier.command, table.verifier.threshold) == ("/tests/test.sh", 0.5)
    assert (table.verifier.network, table.verifier.takes) == (False, ("out",))
    assert table.solution is not None
    assert table.solution.command == "/solution/solve.sh"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "needs a [verifier] for the image's own folder"),
        ('[verifier]\n[tests]\npaths = ["a"]\n', "takes [tests] or [verifier], not both"),
        ("[verifier]\nthreshold = nan\n", "verifier.threshold: nan is not a finite number"),
        ('[verifier]\nthreshold = "1"\n', "verifier.threshold: '1' is not a number"),
        ('[verifier]\ncommand = ""\n', "verifier.command: '' is empty"),
        ('[verifier]\nimage = "a"\ndockerfile = "b"\n', "verifier: takes `image` or `dockerfile`"),
        ('[verifier]\ntakes = ["/"]\n', "verifier.takes.0: '/' is not a path of files"),
        (
            '[verifier]\ntakes = ["a"]\nleaves = { b = ["*"] }\n',
            "verifier: takes in `leaves` only paths of `takes`; 'b' is not",
        ),
        (
            '[verifier]\nenvironment = "shared"\ntakes = ["a"]\n',
            "verifier: takes no `takes` with `environment",
        ),
        ('[verifier]\nuser = "a b"\n', "verifier.user: 'a b'"),
        ("[environment.healthcheck]\ntimeout_s = 1.0\n", "environment.healthcheck.command: "),
        ('[environment]\nenv_from_host = { A = "B-C" }\n', "environment.env_from_host.A: 'B-C'"),
        ('[verifier.env]\n"A-B" = "1"\n', "verifier.env.A-B: 'A-B' is not a name"),
    ],
)
def test_a_wrong_script_table_is_refused(text, said):
    assert any(fault.startswith(f"x/task.toml: {said}") for fault in faults(SCRIPTED + text))


def test_runner_has_default_command_and_accepts_printed_names():
    names = ("test_a (shop.tests.Till)", "A till counts.", "tests/test_a.py::Till::test_b")
    listed = ", ".join(f'"{name}"' for name in names)
    text = f'{BY_PATH}[tests]\nrunner = "unittest"\nfail_to_pass = [{listed}]\n'
    table = parse_task_file(text, name="task.toml")
    assert table.tests.command == "python -m unittest"
    assert table.tests.fail_to_pass == names
    assert 'runner = "unittest"' in task_toml(table)
    assert parse_task_file(task_toml(table), name="task.toml") == table


def test_problem_and_answer_key_share_no_field():
    assert not set(Problem.model_fields) & set(AnswerKey.model_fields)
