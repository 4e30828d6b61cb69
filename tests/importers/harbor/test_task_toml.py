from agentbench.importers.harbor.task_toml import substitute_env


def test_plain_values_stay_as_they_are():
    done = substitute_env({"A": "1", "B": "a ${C} b", "D": "$E"}, "env")
    assert done.env == {"A": "1", "B": "a ${C} b", "D": "$E"}
    assert (done.from_host, done.defaulted) == ([], [])


def test_the_hosts_variables_are_never_read(monkeypatch):
    monkeypatch.setenv("API_KEY", "secret")
    done = substitute_env({"KEY": "${API_KEY}", "MODEL": "${MODEL:-small}"}, "verifier.env")
    assert done.env == {"MODEL": "small"}
    assert done.from_host == ["verifier.env.KEY"]
    assert done.defaulted == ["verifier.env.MODEL"]


def test_an_empty_default_is_one():
    assert substitute_env({"A": "${B:-}"}, "env").env == {"A": ""}
