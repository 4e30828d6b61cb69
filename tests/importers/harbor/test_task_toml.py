from agentbench.importers.harbor.task_toml import split_env


def test_plain_values_stay_as_they_are():
    env = {"A": "1", "B": "a ${C} b", "D": "$E"}
    assert split_env(env) == (env, {})


def test_the_hosts_variables_are_named_and_never_read(monkeypatch):
    monkeypatch.setenv("API_KEY", "secret")
    env = {"KEY": "${API_KEY}", "MODEL": "${BIG:-small}"}
    assert split_env(env) == ({"MODEL": "small"}, {"KEY": "API_KEY", "MODEL": "BIG"})


def test_an_empty_default_is_one():
    assert split_env({"A": "${B:-}"}) == ({"A": ""}, {"A": "B"})
