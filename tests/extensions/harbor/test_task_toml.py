import pytest

from agentbench.extensions.harbor.task_toml import (
    HarborTaskFile,
    parse_harbor_task_file,
    split_env,
    unknown_keys,
)
from tests.extensions.harbor.harbor_folders import ONE_FOUR, ONE_TWO, ONE_ZERO


def test_plain_values_stay_as_they_are():
    env = {"A": "1", "B": "a ${C} b", "D": "$E"}
    assert split_env(env) == (env, {})


def test_variables_of_host_are_not_read(monkeypatch):
    monkeypatch.setenv("API_KEY", "secret")
    env = {"KEY": "${API_KEY}", "MODEL": "${BIG:-small}"}
    assert split_env(env) == ({"MODEL": "small"}, {"KEY": "API_KEY", "MODEL": "BIG"})


def test_an_empty_default_is_one():
    assert split_env({"A": "${B:-}"}) == ({"A": ""}, {"A": "B"})


def form(text: str) -> HarborTaskFile:
    found = parse_harbor_task_file(text, where="x/task.toml")
    assert isinstance(found, HarborTaskFile), found
    return found


def refused(text: str) -> list[str]:
    found = parse_harbor_task_file(text, where="x/task.toml")
    assert isinstance(found, list)
    return [str(refusal) for refusal in found]


def test_the_first_schema_has_sizes_with_units_and_another_name_for_its_version():
    found = form(ONE_ZERO)
    assert found.schema_version == "1.0"
    assert (found.environment.memory_mb, found.environment.storage_mb) == (1024, 2048)
    assert found.metadata["tags"] == ["text", "first"]


def test_later_schemas_have_numbers_of_mebibytes():
    found = form(ONE_TWO)
    assert (found.environment.memory_mb, found.environment.cpus) == (512, 0.5)
    assert found.environment.allow_internet is True


def test_a_verifier_with_an_environment_of_its_own_is_separate():
    assert form(ONE_FOUR).verifier.is_separate
    assert form("[verifier.environment]\ncpus = 1\n").verifier.is_separate
    assert not form(ONE_ZERO).verifier.is_separate


def test_keys_that_no_schema_has_are_named_with_their_tables():
    text = "new = 1\n[environment]\nspeed = 2\n[verifier.environment]\nold = 3\n[solution]\nx = 4\n"
    assert list(unknown_keys(form(text))) == [
        "new",
        "verifier.environment.old",
        "environment.speed",
        "solution.x",
    ]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a = ", "x/task.toml: not valid TOML: "),
        ('schema_version = "2.0"', "x/task.toml: schema_version: '2.0' is not one of 1.0 to 1.4"),
        ('schema_version = "1.5"', "x/task.toml: schema_version: '1.5' is newer than 1.4"),
        ('version = "one"', "x/task.toml: schema_version: 'one' is not one of 1.0 to 1.4"),
        ("schema_version = 1.4", "x/task.toml: schema_version: 1.4 is not a string"),
        ("[verifier]\ntimeout_sec = 0", "x/task.toml: verifier.timeout_sec: 0 is not above 0"),
        ("[agent]\ntimeout_sec = nan", "x/task.toml: agent.timeout_sec: nan is no"),
        ("[agent]\ntimeout_sec = 1e9", "x/task.toml: agent.timeout_sec: 1000000000.0 is above"),
        ('[environment]\nmemory = "lots"', "x/task.toml: environment.memory: "),
        ('[environment]\nmemory = "1T"', "x/task.toml: environment.memory: "),
        ("[environment]\ncpus = -1", "x/task.toml: environment.cpus: -1 is not above 0"),
        ('[environment]\nenv = "A=1"', "x/task.toml: environment.env: 'A=1' is not a table"),
        ('[environment]\nnetwork_mode = "some"', "x/task.toml: environment.network_mode: 'some'"),
        ('[verifier]\nenvironment_mode = "own"', "x/task.toml: verifier.environment_mode: 'own'"),
        ('verifier = "tests"', "x/task.toml: verifier: 'tests' is not a table"),
        ("[task]\ndescription = 'a'", "x/task.toml: task.name: is missing"),
    ],
)
def test_a_wrong_file_is_refused_with_its_field(text, result):
    (one,) = refused(text)
    assert one.startswith(result)


def test_all_faults_of_harbor_file_are_reported():
    assert len(refused("[agent]\ntimeout_sec = -1\n[environment]\ncpus = 0\ngpus = 'a'")) == 3
